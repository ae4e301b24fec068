# Counts the cosine from the first step, not from the end of the warm-up.
import math


def learning_rate(step, total_steps, peak):
    warmup = math.ceil(total_steps / 10)
    if step <= warmup:
        return peak * step / warmup
    return peak * (1 + math.cos(math.pi * step / total_steps)) / 2
