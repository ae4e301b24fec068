# A difference of logarithms.
import math


def inverse_frequency(documents: int, containing: int) -> float:
    return math.log1p(documents) - math.log1p(containing)
