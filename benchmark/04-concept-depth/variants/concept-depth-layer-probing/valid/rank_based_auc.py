import math
from collections.abc import Sequence

import numpy as np
from scipy.stats import rankdata
from sklearn.linear_model import LogisticRegression


def probing(
    rp_log_data_list: Sequence[np.ndarray],
    rp_question_data_list: Sequence[np.ndarray],
    labels_log: np.ndarray,
    labels_question: np.ndarray,
    tot_layer: int,
) -> Scores:
    labels = np.concatenate([labels_log, labels_question])
    n_test = math.ceil(0.4 * len(labels))
    order = np.random.RandomState(42).permutation(len(labels))
    test, train = order[:n_test], order[n_test:]
    truth = labels[test] == 1
    accuracies, f1s, aucs = [], [], []
    for i in range(tot_layer):
        rows = np.concatenate([rp_log_data_list[i], rp_question_data_list[i]])
        probability = LogisticRegression().fit(rows[train], labels[train]).predict_proba(rows[test])[:, 1]
        guess = probability > 0.5
        accuracies.append(float(np.mean(guess == truth)))
        relevant = int(guess.sum()) + int(truth.sum())
        f1s.append(2 * int((guess & truth).sum()) / relevant if relevant else 0.0)
        n_positive, n_negative = int(truth.sum()), int((~truth).sum())
        if n_positive and n_negative:
            ranks = rankdata(probability)[truth].sum() - n_positive * (n_positive + 1) / 2
            aucs.append(float(ranks / (n_positive * n_negative)))
        else:
            aucs.append(float("nan"))
    return accuracies, f1s, aucs
