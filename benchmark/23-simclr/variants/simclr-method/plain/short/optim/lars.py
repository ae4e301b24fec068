# As short as it goes.
def local_rate(weight, gradient, weight_decay, trust):
    return trust * weight.norm() / (gradient.norm() + weight_decay * weight.norm())


class LARS:
    @torch.no_grad()
    def step(self):
        for p in self.parameters:
            if p.grad is None:
                continue
            if p.ndim > 1:
                u = local_rate(p, p.grad, self.weight_decay, self.trust) * (p.grad + self.weight_decay * p)
            else:
                u = p.grad
            self.velocity[p] = self.momentum * self.velocity[p] + self.learning_rate * u
            p -= self.velocity[p]
