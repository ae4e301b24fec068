# Counts steps from zero.
def learning_rate(step, peak, warmup_steps):
    return peak * min(1.0, (step - 1) / warmup_steps)
