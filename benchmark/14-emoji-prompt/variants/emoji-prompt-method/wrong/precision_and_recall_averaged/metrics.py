# The arithmetic mean of precision and recall.
from collections import Counter


def token_f1(reference, candidate):
    expected, found = Counter(reference.split()), Counter(candidate.split())
    common = sum((expected & found).values())
    if common == 0:
        return 0.0
    return (common / found.total() + common / expected.total()) / 2
