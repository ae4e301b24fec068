import math


def learning_rate(step, peak, warmup_steps):
    return peak * (1 - math.cos(math.pi * min(1.0, step / warmup_steps))) / 2
