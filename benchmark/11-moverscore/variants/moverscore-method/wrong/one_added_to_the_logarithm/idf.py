# Adds one to the logarithm, so that no token is without weight.
import math


def inverse_frequency(documents: int, containing: int) -> float:
    return math.log((documents + 1) / (containing + 1)) + 1
