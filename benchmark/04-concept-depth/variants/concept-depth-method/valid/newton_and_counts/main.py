# Finds the minimum by Newton's method, counts rows for the scores, and ranks them for the AUC.
import numpy as np
from scipy.special import expit
from scipy.stats import rankdata
from sklearn.model_selection import ShuffleSplit


def split_rows(count):
    splitter = ShuffleSplit(n_splits=1, test_size=0.4, random_state=42)
    return next(splitter.split(np.zeros((count, 1))))


def fit_probe(states, labels):
    design = np.hstack([states, np.ones((len(states), 1))])
    penalty = np.diag([1.0] * states.shape[1] + [0.0])
    theta = np.zeros(design.shape[1])

    def objective(candidate):
        scores = design @ candidate
        return np.logaddexp(0, scores).sum() - labels @ scores + candidate @ penalty @ candidate / 2

    for _ in range(60):
        p = expit(design @ theta)
        gradient = design.T @ (p - labels) + penalty @ theta
        step = np.linalg.solve((design.T * (p * (1 - p))) @ design + penalty, gradient)
        size = 1.0
        while size > 1e-9 and objective(theta - size * step) > objective(theta):
            size /= 2
        theta = theta - size * step
        if np.abs(size * step).max() < 1e-11:
            break
    return theta


def probabilities(theta, states):
    return expit(np.hstack([states, np.ones((len(states), 1))]) @ theta)


def score_probe(labels, predicted):
    labels, said = labels.astype(bool), predicted > 0.5
    hits, wrong = np.sum(said & labels), np.sum(said ^ labels)
    ranks = rankdata(predicted)
    positives, negatives = labels.sum(), (~labels).sum()
    auc = (ranks[labels].sum() - positives * (positives + 1) / 2) / (positives * negatives)
    return float(np.mean(said == labels)), float(2 * hits / (2 * hits + wrong)), float(auc)


def probing(rp_log_data_list, rp_question_data_list, labels_log, labels_question, tot_layer):
    labels = np.concatenate([labels_log, labels_question])
    train, test = split_rows(labels.size)

    def of_layer(layer):
        rows = np.vstack([rp_log_data_list[layer], rp_question_data_list[layer]])
        return score_probe(labels[test], probabilities(fit_probe(rows[train], labels[train]), rows[test]))

    scores = [of_layer(layer) for layer in range(tot_layer)]
    return tuple([float(triple[number]) for triple in scores] for number in range(3))
