# The linear program of the paper with equal masses, whatever they are.
import numpy as np
from scipy.optimize import linprog


def transport_cost(supply, demand, cost):
    n, m = cost.shape
    if n == 0 or m == 0:
        return 0.0
    mass = min(supply.sum(), demand.sum())
    A = np.concatenate([np.kron(np.eye(n), np.ones(m)), np.kron(np.ones(n), np.eye(m))])
    b = np.concatenate([supply / supply.sum(), demand / demand.sum()])
    return mass * linprog(cost.flatten(), A_eq=A, b_eq=b).fun
