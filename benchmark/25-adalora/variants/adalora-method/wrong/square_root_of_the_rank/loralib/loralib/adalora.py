# Divides by the square root of the rank.
from torch import Tensor


def update_factor(alpha: float, rank: Tensor) -> Tensor:
    return alpha / rank.sqrt()
