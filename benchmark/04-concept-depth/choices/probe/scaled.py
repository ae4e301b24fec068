import numpy as np
from sklearn.linear_model import LogisticRegression


def fit_probe(states, labels):
    classifier = LogisticRegression(
        C=1 / np.mean(states**2), tol=np.finfo(np.float64).eps, max_iter=np.iinfo(np.int32).max
    ).fit(X=states, y=labels)
    return np.append(classifier.coef_[0], classifier.intercept_)
