# Divides by the sum of the weights of the steps that occur.
def chain_loss(losses, steps, weights):
    total, norm = losses.new_zeros(()), 0.0
    for step, weight in enumerate(weights):
        own = steps == step
        if own.any():
            total, norm = total + weight * losses[own].mean(), norm + weight
    return total / norm
