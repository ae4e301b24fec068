# Scales the hidden states to unit deviation before the fit.
import numpy as np
from sklearn.linear_model import LogisticRegression


def fit_probe(states, labels):
    deviation = states.std(axis=0)
    classifier = LogisticRegression().fit(states / deviation, labels)
    return np.append(classifier.coef_[0] / deviation, classifier.intercept_)
