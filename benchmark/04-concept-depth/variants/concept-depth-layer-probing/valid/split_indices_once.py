from collections.abc import Sequence

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import precision_recall_fscore_support, roc_auc_score
from sklearn.model_selection import ShuffleSplit


def probing(
    rp_log_data_list: Sequence[np.ndarray],
    rp_question_data_list: Sequence[np.ndarray],
    labels_log: np.ndarray,
    labels_question: np.ndarray,
    tot_layer: int,
) -> Scores:
    labels = np.concatenate([labels_log, labels_question])
    [(train, test)] = ShuffleSplit(n_splits=1, test_size=0.4, random_state=42).split(labels)
    result: Scores = ([], [], [])
    for i in range(tot_layer):
        rows = np.concatenate([rp_log_data_list[i], rp_question_data_list[i]])
        probe = LogisticRegression().fit(rows[train], labels[train])
        _, _, f1, _ = precision_recall_fscore_support(
            labels[test], probe.predict(rows[test]), pos_label=1, average="binary", zero_division=0.0
        )
        result[0].append(probe.score(rows[test], labels[test]))
        result[1].append(float(f1))
        result[2].append(roc_auc_score(labels[test], probe.predict_proba(rows[test])[:, 1]))
    return result
