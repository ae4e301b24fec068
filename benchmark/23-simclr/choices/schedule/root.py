import math


def rate_at(step, peak, warmup_steps, total_steps):
    if step <= warmup_steps:
        return peak * (step / warmup_steps)
    return peak * math.sqrt(max(warmup_steps, 1) / step)
