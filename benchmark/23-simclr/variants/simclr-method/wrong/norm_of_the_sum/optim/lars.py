# Divides by the norm of gradient and decay together.
def local_rate(weight, gradient, weight_decay, trust):
    return trust * weight.norm() / (gradient + weight_decay * weight).norm()
