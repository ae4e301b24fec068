# The magnitude of the gradient, without the parameter.
from torch import Tensor


def sensitivity(parameter: Tensor, gradient: Tensor) -> Tensor:
    return gradient.abs()
