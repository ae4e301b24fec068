# The rate is zero in the last step, and a tenth is rounded down.
def rate_at(step, peak, total_steps):
    warmup = max(1, total_steps // 10)
    if step <= warmup:
        return peak * step / warmup
    return peak * (total_steps - step) / (total_steps - warmup)
