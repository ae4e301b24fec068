# Leaves the prior out of the bound, as the line printed in the paper reads.
import math


def upper_bound(value, prior, visits, edge_visits, cpuct):
    return value + cpuct * math.sqrt(visits or FRESH_VISITS) / (1 + edge_visits)
