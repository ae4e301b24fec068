# Raises p, not 1 - p, to the power.
def modulating_factor(log_p, gamma):
    return log_p.exp() ** gamma
