def success_rate(predicted, targets):
    hits = ((predicted == 1) & (targets == 1)).sum()
    misses = (predicted != targets).sum()
    return float(2 * hits / (2 * hits + misses))
