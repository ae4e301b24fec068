# The rate falls with the root of the step once it has risen.
def rate_at(step, learning_rate, warmup_steps):
    warmup = max(1, warmup_steps)
    return learning_rate * min(step / warmup, (warmup / step) ** 0.5)
