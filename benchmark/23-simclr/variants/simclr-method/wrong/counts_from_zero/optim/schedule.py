# Counts steps from 0, so that the first one has no rate.
import math


def rate_at(step, peak, warmup_steps, total_steps):
    step = step - 1
    if step < warmup_steps:
        return peak * step / warmup_steps
    return peak * (1 + math.cos(math.pi * (step - warmup_steps) / (total_steps - warmup_steps))) / 2
