def modulating_factor(log_p, gamma):
    return (-log_p / (1 - log_p)) ** gamma
