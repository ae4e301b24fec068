# Adds the small number to the squares.
class RMSProp:
    @torch.no_grad()
    def step(self, rate):
        for p, v in self.squares.items():
            if p.grad is not None:
                v.copy_(0.99 * v + 0.01 * p.grad**2)
                p -= rate * p.grad / (v + 1e-8).sqrt()
