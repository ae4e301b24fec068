# Multiplies the velocity by the learning rate when it is applied, as torch's momentum does.
class LARS:
    @torch.no_grad()
    def step(self):
        for p in self.parameters:
            if p.grad is None:
                continue
            update = p.grad
            if p.dim() > 1:
                update = local_rate(p, p.grad, self.weight_decay, self.trust) * (p.grad + self.weight_decay * p)
            self.velocity[p] = self.momentum * self.velocity[p] + update
            p -= self.learning_rate * self.velocity[p]
