# Leaves the n out of the penalty's denominator.
import numpy as np
from sklearn.linear_model import LogisticRegression


def fit_probe(states, labels):
    classifier = LogisticRegression(C=1 / len(labels)).fit(states, labels)
    return np.append(classifier.coef_[0], classifier.intercept_)
