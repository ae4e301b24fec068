import numpy as np
from sklearn.linear_model import LogisticRegression


def fit_probe(states, labels):
    classifier = LogisticRegression(class_weight="balanced", tol=1e-10, max_iter=10_000).fit(X=states, y=labels)
    return np.append(classifier.coef_[0], classifier.intercept_)
