import math


def similarity(distance):
    return math.exp(-distance)
