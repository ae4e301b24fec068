# The cosine runs over all steps, the warm-up included.
import math


def rate_at(step, peak, warmup_steps, total_steps):
    if step <= warmup_steps:
        return peak * step / warmup_steps
    return peak * (1 + math.cos(math.pi * step / total_steps)) / 2
