import math


def rate_at(step, peak, total_steps):
    warmup_steps = math.ceil(total_steps / 10)
    if step <= warmup_steps:
        return peak * (step / warmup_steps)
    return peak * math.sqrt(warmup_steps / step)
