# One call to scikit-learn's solver with a constant column of its own making.
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score


def fit_probe(states, labels):
    model = LogisticRegression(C=1.0, fit_intercept=True, tol=1e-8, max_iter=2000).fit(states, labels)
    return np.concatenate([model.coef_.ravel(), model.intercept_])


def probabilities(theta, states):
    return 1 / (1 + np.exp(-(states @ theta[:-1]) - theta[-1]))


def score_probe(labels, predicted):
    said = np.rint(predicted).astype(int)
    true_positive = int(((said == 1) & (labels == 1)).sum())
    precision = true_positive / max((said == 1).sum(), 1)
    recall = true_positive / max((labels == 1).sum(), 1)
    f1 = 2 * precision * recall / (precision + recall) if true_positive else 0.0
    return float((said == labels).mean()), float(f1), float(roc_auc_score(labels, predicted))
