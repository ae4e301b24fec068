# Does not add the bias.
from scipy.special import expit


def probabilities(theta, states):
    return expit(states @ theta[:-1])
