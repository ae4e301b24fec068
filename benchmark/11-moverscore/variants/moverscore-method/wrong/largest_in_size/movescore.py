# Takes the numbers of largest and smallest size for the limits.
import math

from torch import Tensor


def power_mean(layers: Tensor, exponent: float) -> Tensor:
    if math.isinf(exponent):
        sizes = layers.abs()
        index = sizes.argmax(0, keepdim=True) if exponent > 0 else sizes.argmin(0, keepdim=True)
        return layers.gather(0, index).squeeze(0)
    return layers.pow(exponent).mean(0).pow(1 / exponent)
