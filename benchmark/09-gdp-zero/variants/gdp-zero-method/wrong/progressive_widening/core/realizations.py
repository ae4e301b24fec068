# Lets the realisations grow with the root of the visits.
import math


def realization_limit(visits, constant):
    return min(constant, math.ceil(math.sqrt(visits + 1)))
