# Counts donations as success and every other answer as failure.
def state_value(counts):
    total = counts.sum()
    return float(2 * counts[4] / total - 1) if total > 0 else 0.0
