# As short as it goes.
import torch


class PoincareBall:
    def mobius_add(self, x, y):
        c = self.c
        xy = (x * y).sum(-1, keepdim=True)
        x2 = (x**2).sum(-1, keepdim=True)
        y2 = (y**2).sum(-1, keepdim=True)
        return ((1 + 2 * c * xy + c * y2) * x + (1 - c * x2) * y) / (1 + 2 * c * xy + c**2 * x2 * y2)

    def dist(self, x, y):
        return 2 / self.c**0.5 * torch.atanh(self.c**0.5 * self.mobius_add(-x, y).norm(dim=-1))

    def dist0(self, x):
        return 2 / self.c**0.5 * torch.atanh(self.c**0.5 * x.norm(dim=-1))


def poincare_ball(embed_dim):
    return PoincareBall(1 / embed_dim)
