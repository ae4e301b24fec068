def local_rate(weight, gradient, weight_decay, trust):
    largest = weight.abs().max()
    return trust * largest / (gradient.abs().max() + weight_decay * largest)
