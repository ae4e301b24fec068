# Solves the transport with entropic regularisation.
import numpy as np
from scipy.special import logsumexp


def transport_cost(supply: np.ndarray, demand: np.ndarray, cost: np.ndarray, strength: float = 0.05) -> float:
    if not cost.size:
        return 0.0
    mass = min(supply.sum(), demand.sum())
    log_p, log_q = np.log(supply / supply.sum()), np.log(demand / demand.sum())
    g = np.zeros_like(log_q)
    for _ in range(300):
        f = log_p - logsumexp(g - cost / strength, axis=1)
        g = log_q - logsumexp(f[:, None] - cost / strength, axis=0)
    return float(mass * (np.exp(f[:, None] + g - cost / strength) * cost).sum())
