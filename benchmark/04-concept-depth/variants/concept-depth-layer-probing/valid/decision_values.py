from collections.abc import Sequence

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split


def probing(
    rp_log_data_list: Sequence[np.ndarray],
    rp_question_data_list: Sequence[np.ndarray],
    labels_log: np.ndarray,
    labels_question: np.ndarray,
    tot_layer: int,
) -> Scores:
    labels = np.concatenate([labels_log, labels_question])
    train, test = train_test_split(np.arange(labels.size), test_size=0.4, random_state=42)
    scores = np.full((3, tot_layer), np.nan)
    for i in range(tot_layer):
        rows = np.concatenate([rp_log_data_list[i], rp_question_data_list[i]])
        probe = LogisticRegression().fit(rows[train], labels[train])
        values = rows[test] @ probe.coef_[0] + probe.intercept_[0]
        positive, negative = values[labels[test] == 1], values[labels[test] == 0]
        hits, false_alarms = np.sum(positive > 0), np.sum(negative > 0)
        misses = positive.size - hits
        scores[0, i] = (hits + negative.size - false_alarms) / values.size
        scores[1, i] = 2 * hits / max(2 * hits + misses + false_alarms, 1)
        if positive.size and negative.size:
            difference = positive[:, None] - negative[None, :]
            scores[2, i] = np.mean((difference > 0) + 0.5 * (difference == 0))
    accuracies, f1s, aucs = scores.tolist()
    return accuracies, f1s, aucs
