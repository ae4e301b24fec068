# Distances by an inverse hyperbolic cosine; the sum with its parts named.
import torch


class PoincareBall:
    def mobius_add(self, x, y):
        xy, xx, yy = ((a * b).sum(-1, keepdim=True) * self.c for a, b in ((x, y), (x, x), (y, y)))
        return (x * (1 + 2 * xy + yy) + y * (1 - xx)) / (1 + 2 * xy + xx * yy)

    def dist(self, x, y):
        gap = (x - y).square().sum(-1)
        room = (1 - self.c * x.square().sum(-1)) * (1 - self.c * y.square().sum(-1))
        half = (self.c * gap / room).sqrt()
        return 2 * self.radius * torch.asinh(half)

    def dist0(self, x):
        ratio = x.norm(dim=-1) * self.c**0.5
        return self.radius * (torch.log1p(ratio) - torch.log1p(-ratio))


def poincare_ball(embed_dim):
    return PoincareBall(1.0 / embed_dim)
