# Sparse constraints, with a place beside those of a text for mass that stays.
import numpy as np
from scipy import sparse
from scipy.optimize import linprog


def transport_cost(supply: np.ndarray, demand: np.ndarray, cost: np.ndarray) -> float:
    n, m = cost.shape
    if n == 0 or m == 0:
        return 0.0
    total = min(supply.sum(), demand.sum())
    a, b = supply / total, demand / total
    rows = sparse.kron(sparse.identity(n), np.ones((1, m)))
    columns = sparse.kron(np.ones((1, n)), sparse.identity(m))
    everything = np.ones((1, n * m))
    found = linprog(
        cost.ravel(), A_ub=sparse.vstack([rows, columns]), b_ub=np.r_[a, b], A_eq=everything, b_eq=[1 - 1e-12]
    )
    return total * found.fun
