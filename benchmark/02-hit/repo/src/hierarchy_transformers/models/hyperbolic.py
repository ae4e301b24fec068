"""The Poincare ball: Moebius addition, distances and norms of points given by their coordinates."""

import math

import torch
from torch import Tensor

#: Keeps the argument of the inverse hyperbolic tangent inside (-1, 1), so that distances to the boundary stay finite.
ARTANH_MARGIN = 1e-7
#: The smallest denominator of a Moebius addition.
DENOMINATOR_FLOOR = 1e-15


class PoincareBall:
    """The Poincare ball of curvature -c: the open ball of radius 1 / sqrt(c), with the hyperbolic metric.

    Points on or outside the boundary have no place in the ball, but are accepted. Their norms and their distances to
    points inside saturate at the same large finite value, where the gradient is zero.
    """

    def __init__(self, c: float) -> None:
        if c <= 0:
            raise ValueError(f"c must be positive, not {c}")
        self.c = c

    @property
    def radius(self) -> float:
        """Euclidean radius of the ball."""
        return 1 / math.sqrt(self.c)

    def mobius_add(self, x: Tensor, y: Tensor) -> Tensor:
        """The sum x (+) y of points x and y in the ball, (..., d) each, which broadcast; the result is (..., d)."""
        inner = (x * y).sum(dim=-1, keepdim=True)
        x_squared = (x * x).sum(dim=-1, keepdim=True)
        y_squared = (y * y).sum(dim=-1, keepdim=True)
        numerator = (1 + 2 * self.c * inner + self.c * y_squared) * x + (1 - self.c * x_squared) * y
        denominator = 1 + 2 * self.c * inner + self.c**2 * x_squared * y_squared
        return numerator / denominator.clamp(min=DENOMINATOR_FLOOR)

    def dist(self, x: Tensor, y: Tensor) -> Tensor:
        """The distance d_c between points x and y, (..., d) each, which broadcast; the result is (...)."""
        return self.dist0(self.mobius_add(-x, y))

    def dist0(self, x: Tensor) -> Tensor:
        """The norm of points (..., d) in the ball, their distance d_c from the origin; the result is (...)."""
        # The gradient of this norm at zero is zero, not NaN: coincident points are harmless.
        norm = torch.linalg.vector_norm(x, dim=-1)
        limit = 1 - ARTANH_MARGIN
        return 2 * self.radius * torch.atanh((norm / self.radius).clamp(-limit, limit))


def poincare_ball(embed_dim: int) -> PoincareBall:
    """The Poincare ball of the paper for embeddings of `embed_dim` numbers, d of the paper."""
    return PoincareBall(c=1 / embed_dim)
