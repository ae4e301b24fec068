# Weighs with 1 - alpha and alpha.
def contrast(with_context, without_context, alpha):
    return (1 - alpha) * with_context + alpha * without_context
