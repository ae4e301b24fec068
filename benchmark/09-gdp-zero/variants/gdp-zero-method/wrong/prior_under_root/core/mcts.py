# Takes the root of prior and visits together.
import math


def upper_bound(value, prior, visits, edge_visits, cpuct):
    return value + cpuct * math.sqrt(prior * (visits or FRESH_VISITS)) / (1 + edge_visits)
