# Treats the modulating factor as a constant.
def modulating_factor(log_p, gamma):
    return (1 - log_p.detach().exp()) ** gamma
