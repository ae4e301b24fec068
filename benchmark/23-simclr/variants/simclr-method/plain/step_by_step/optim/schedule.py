# Each step in names of its own.
from math import cos, pi


def peak_rate(reference_rate, batch_size):
    factor = batch_size / 256.0
    return factor * reference_rate


def rate_at(step, peak, warmup_steps, total_steps):
    if warmup_steps > 0 and step <= warmup_steps:
        return peak * float(step) / float(warmup_steps)
    decay_steps = total_steps - warmup_steps
    fraction = (step - warmup_steps) / decay_steps
    return 0.5 * peak * (1.0 + cos(pi * fraction))
