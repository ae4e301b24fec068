import math


def upper_bound(value, prior, visits, edge_visits, cpuct):
    return float(value + cpuct * math.sqrt(prior * (visits or FRESH_VISITS)) / (1 + edge_visits))  # noqa: F821
