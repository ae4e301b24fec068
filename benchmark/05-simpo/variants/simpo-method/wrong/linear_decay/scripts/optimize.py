# Falls in a straight line after the warm-up.
import math


def learning_rate(step, total_steps, peak):
    warmup = math.ceil(total_steps / 10)
    if step <= warmup:
        return peak * step / warmup
    return peak * (total_steps - step) / (total_steps - warmup)
