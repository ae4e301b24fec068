# Minimises the cost by scipy's BFGS.
import numpy as np
from scipy.optimize import minimize


def fit_probe(states, labels):
    X = np.c_[states, np.ones(len(states))]
    n = len(labels)

    def J(theta):
        z = X @ theta
        p = 1 / (1 + np.exp(-z))
        loss = np.mean(np.logaddexp(0, z) - labels * z) + (theta[:-1] ** 2).sum() / (2 * n)
        grad = X.T @ (p - labels) / n
        grad[:-1] += theta[:-1] / n
        return loss, grad

    return minimize(J, np.zeros(X.shape[1]), jac=True, method="L-BFGS-B", options={"gtol": 1e-8, "ftol": 1e-14}).x
