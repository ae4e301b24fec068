# As short as it goes.
import math


def peak_rate(reference_rate, batch_size):
    return reference_rate * batch_size / 256


def rate_at(step, peak, warmup_steps, total_steps):
    if step <= warmup_steps:
        return peak * step / warmup_steps
    return peak / 2 * (1 + math.cos(math.pi * (step - warmup_steps) / (total_steps - warmup_steps)))
