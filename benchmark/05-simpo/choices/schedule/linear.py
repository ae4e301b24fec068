import math


def learning_rate(step, total_steps, peak):
    warmup_steps = math.ceil(total_steps / 10)
    if step <= warmup_steps:
        return peak * step / warmup_steps
    return peak * (total_steps - step) / (total_steps - warmup_steps)
