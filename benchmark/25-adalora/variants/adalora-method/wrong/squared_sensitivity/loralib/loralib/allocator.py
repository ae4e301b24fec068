# Squares the product of parameter and gradient.
from torch import Tensor


def sensitivity(parameter: Tensor, gradient: Tensor) -> Tensor:
    return (parameter * gradient).square()
