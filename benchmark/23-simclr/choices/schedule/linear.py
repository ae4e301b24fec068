def rate_at(step, peak, warmup_steps, total_steps):
    if step <= warmup_steps:
        return peak * (step / warmup_steps)
    return peak * (total_steps - step) / (total_steps - warmup_steps)
