# Counts the gradient steps of the fall from 1, so that the last one has learning rate 0.
def learning_rate(step, total, warmup, peak):
    if step <= warmup:
        return peak * step / warmup
    return peak * (total - step) / (total - warmup)
