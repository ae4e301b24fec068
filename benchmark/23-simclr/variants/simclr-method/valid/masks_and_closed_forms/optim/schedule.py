# Half a cosine as a squared cosine of half the angle.
import math


def rate_at(step, peak, warmup_steps, total_steps):
    if step <= warmup_steps:
        return step / warmup_steps * peak
    return peak * math.cos(math.pi / 2 * (step - warmup_steps) / (total_steps - warmup_steps)) ** 2
