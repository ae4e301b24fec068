# Loops for the constraints, inequalities where one side has more.
import numpy as np
from scipy.optimize import linprog


def transport_cost(supply: np.ndarray, demand: np.ndarray, cost: np.ndarray) -> float:
    n, m = len(supply), len(demand)
    if n == 0 or m == 0:
        return 0.0
    amount = min(supply.sum(), demand.sum())
    A_ub = np.zeros((n + m, n * m))
    for i in range(n):
        A_ub[i, i * m : (i + 1) * m] = 1
    for j in range(m):
        A_ub[n + j, j::m] = 1
    b_ub = np.concatenate([supply, demand])
    result = linprog(
        cost.reshape(-1), A_ub=A_ub, b_ub=b_ub + 1e-9, A_eq=np.ones((1, n * m)), b_eq=[amount], bounds=(0, None)
    )
    return float(result.fun)
