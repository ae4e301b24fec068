from collections import Counter


def token_f1(reference, candidate):
    a, b = Counter(reference.split()), Counter(candidate.split())
    c = sum((a & b).values())
    if c == 0:
        return 0
    p, r = c / sum(b.values()), c / sum(a.values())
    return 2 * p * r / (p + r)
