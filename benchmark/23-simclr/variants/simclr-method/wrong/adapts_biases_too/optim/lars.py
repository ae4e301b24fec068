# Treats tensors of one axis like all others.
class LARS:
    @torch.no_grad()
    def step(self):
        for p in self.parameters:
            if p.grad is None:
                continue
            rate = self.learning_rate * local_rate(p, p.grad, self.weight_decay, self.trust)
            self.velocity[p] = self.momentum * self.velocity[p] + rate * (p.grad + self.weight_decay * p)
            p -= self.velocity[p]
