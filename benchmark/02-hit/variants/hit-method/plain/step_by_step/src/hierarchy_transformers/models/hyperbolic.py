# Each step in names of its own.
import math

import torch


class PoincareBall:
    def mobius_add(self, x, y):
        inner_product = torch.sum(x * y, dim=-1, keepdim=True)
        x_norm_squared = torch.sum(x * x, dim=-1, keepdim=True)
        y_norm_squared = torch.sum(y * y, dim=-1, keepdim=True)
        x_factor = 1 + 2 * self.c * inner_product + self.c * y_norm_squared
        y_factor = 1 - self.c * x_norm_squared
        numerator = x_factor * x + y_factor * y
        denominator = 1 + 2 * self.c * inner_product + self.c**2 * x_norm_squared * y_norm_squared
        return numerator / denominator.clamp_min(1e-15)

    def dist(self, x, y):
        difference = self.mobius_add(-x, y)
        return self.dist0(difference)

    def dist0(self, x):
        sqrt_c = math.sqrt(self.c)
        argument = sqrt_c * torch.linalg.norm(x, dim=-1)
        argument = argument.clamp(max=1 - 1e-7)
        return (2.0 / sqrt_c) * torch.atanh(argument)


def poincare_ball(embed_dim):
    curvature = 1.0 / embed_dim
    return PoincareBall(c=curvature)
