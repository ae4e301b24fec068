import math


def realization_limit(visits, constant):
    return constant + math.isqrt(visits)
