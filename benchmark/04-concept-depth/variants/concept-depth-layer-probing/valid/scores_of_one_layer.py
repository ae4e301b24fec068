from collections.abc import Sequence

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score, roc_auc_score
from sklearn.model_selection import train_test_split


def _layer_scores(rows: np.ndarray, labels: np.ndarray) -> tuple[float, float, float]:
    x_train, x_test, y_train, y_test = train_test_split(rows, labels, test_size=0.4, random_state=42)
    probe = LogisticRegression().fit(x_train, y_train)
    y_hat = probe.predict(x_test)
    return (
        accuracy_score(y_test, y_hat),
        f1_score(y_test, y_hat),
        roc_auc_score(y_test, probe.predict_proba(x_test)[:, 1]),
    )


def probing(
    rp_log_data_list: Sequence[np.ndarray],
    rp_question_data_list: Sequence[np.ndarray],
    labels_log: np.ndarray,
    labels_question: np.ndarray,
    tot_layer: int,
) -> Scores:
    labels = np.append(labels_log, labels_question)
    scores = [
        _layer_scores(np.vstack([rp_log_data_list[i], rp_question_data_list[i]]), labels) for i in range(tot_layer)
    ]
    accuracies, f1s, aucs = (list(column) for column in zip(*scores)) if scores else ([], [], [])
    return accuracies, f1s, aucs
