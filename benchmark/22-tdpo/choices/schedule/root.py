def learning_rate(step, peak, warmup_steps):
    return peak * min(step / warmup_steps, (warmup_steps / step) ** 0.5)
