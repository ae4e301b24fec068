# A cosine without a warm-up.
import math


def learning_rate(step, total_steps, peak):
    return peak * (1 + math.cos(math.pi * step / total_steps)) / 2
