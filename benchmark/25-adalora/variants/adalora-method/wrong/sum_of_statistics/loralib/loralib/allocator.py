# Adds the uncertainty to the smoothed sensitivity, an upper bound.
from torch import Tensor


def score(average: Tensor, deviation: Tensor) -> Tensor:
    return average + deviation
