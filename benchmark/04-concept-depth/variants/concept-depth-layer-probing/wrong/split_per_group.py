# Splits each group on its own and puts the parts together.
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
        log, question = rp_log_data_list[layer], rp_question_data_list[layer]
        a_train, a_test, b_train, b_test = train_test_split(log, labels_log, test_size=0.4, random_state=42)
        c_train, c_test, d_train, d_test = train_test_split(question, labels_question, test_size=0.4, random_state=42)
        x_train, x_test = np.vstack([a_train, c_train]), np.vstack([a_test, c_test])
        y_train, y_test = np.concatenate([b_train, d_train]), np.concatenate([b_test, d_test])
        probe = LogisticRegression()
        probe.fit(x_train, y_train)
        y_hat = probe.predict(x_test)
        accuracies.append(accuracy_score(y_test, y_hat))
        f1s.append(f1_score(y_test, y_hat))
        aucs.append(roc_auc_score(y_test, probe.predict_proba(x_test)[:, 1]))
    return accuracies, f1s, aucs
