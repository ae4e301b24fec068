import math


def upper_bound(value, prior, visits, edge_visits, cpuct):
    width = math.sqrt(math.log1p(visits or FRESH_VISITS) / (1 + edge_visits))  # noqa: F821
    return float(value + cpuct * prior * width)
