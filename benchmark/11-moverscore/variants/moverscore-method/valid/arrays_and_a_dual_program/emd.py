# Solves the dual program: prices of leaving and of arriving.
import numpy as np
from scipy.optimize import linprog


def transport_cost(supply: np.ndarray, demand: np.ndarray, cost: np.ndarray) -> float:
    n, m = cost.shape
    if not n or not m:
        return 0.0
    mass = min(supply.sum(), demand.sum())
    supply, demand = supply / supply.sum(), demand / demand.sum()
    prices = np.hstack([np.repeat(np.eye(n), m, axis=0), np.tile(np.eye(m), (n, 1))])
    # One price is free: adding a number to all on one side and taking it off the other changes nothing.
    bounds = [(0, 0)] + [(None, None)] * (n + m - 1)
    found = linprog(-np.concatenate([supply, demand]), A_ub=prices, b_ub=cost.ravel(), bounds=bounds)
    return -mass * float(found.fun)
