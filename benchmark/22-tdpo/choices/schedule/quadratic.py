def learning_rate(step, peak, warmup_steps):
    return peak * min(1.0, step / warmup_steps) ** 2
