import math


def rate_at(step, peak, total_steps):
    warmup_steps = math.ceil(total_steps / 10)
    if step <= warmup_steps:
        return peak * (step / warmup_steps)
    return peak * (1 + math.cos(math.pi * (step - warmup_steps) / (total_steps + 1 - warmup_steps))) / 2
