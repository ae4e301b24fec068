def modulating_factor(log_p, gamma):
    return (-gamma * log_p.exp()).exp()
