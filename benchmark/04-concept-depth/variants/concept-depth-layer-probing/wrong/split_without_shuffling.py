# Takes the last rows as test rows instead of shuffling (interleaving the groups before, so that both labels occur).
from collections.abc import Sequence

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, f1_score, roc_auc_score
from sklearn.model_selection import train_test_split


def probing(
    rp_log_data_list: Sequence[np.ndarray],
    rp_question_data_list: Sequence[np.ndarray],
    labels_log: np.ndarray,
    labels_question: np.ndarray,
    tot_layer: int,
) -> Scores:
    labels = np.concatenate([labels_log, labels_question])
    accuracies, f1s, aucs = [], [], []
    for layer in range(tot_layer):
        rows = np.vstack([rp_log_data_list[layer], rp_question_data_list[layer]])
        interleaved = np.argsort(np.arange(len(labels)) % 5, kind="stable")
        x_train, x_test, y_train, y_test = train_test_split(
            rows[interleaved], labels[interleaved], test_size=0.4, shuffle=False
        )
        probe = LogisticRegression()
        probe.fit(x_train, y_train)
        y_hat = probe.predict(x_test)
        accuracies.append(accuracy_score(y_test, y_hat))
        f1s.append(f1_score(y_test, y_hat))
        aucs.append(roc_auc_score(y_test, probe.predict_proba(x_test)[:, 1]))
    return accuracies, f1s, aucs
