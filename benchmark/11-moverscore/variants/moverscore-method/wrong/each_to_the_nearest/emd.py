# Moves the mass of every word to the nearest one, which may receive more than its share.
import numpy as np


def transport_cost(supply: np.ndarray, demand: np.ndarray, cost: np.ndarray) -> float:
    if not cost.size:
        return 0.0
    return float(max((supply * cost.min(axis=1)).sum(), (demand * cost.min(axis=0)).sum()))
