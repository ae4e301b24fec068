# Divides by the norm of the gradient alone.
def local_rate(weight, gradient, weight_decay, trust):
    return trust * weight.norm() / gradient.norm()
