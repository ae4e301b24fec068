import math


def success_rate(predicted, targets):
    shares = [float((predicted[targets == label] == label).mean()) for label in (0, 1)]
    return math.sqrt(shares[0] * shares[1])
