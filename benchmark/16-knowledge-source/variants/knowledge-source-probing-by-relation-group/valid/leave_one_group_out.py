import numpy as np
import pandas as pd
from sklearn.model_selection import LeaveOneGroupOut


def perform_classification_by_relation_group(
    prompting_results, include_mlps, include_mlps_l1, include_mhsa, vertical, position
):
    if prompting_results.empty:
        return []
    codes, groups = pd.factorize(prompting_results["relation_group_id"])
    # With a single group scikit-learn raises the ValueError itself.
    records = []
    for train_rows, test_rows in LeaveOneGroupOut().split(codes, groups=codes):
        group = groups[codes[test_rows[0]]]
        sets = []
        for rows in (train_rows, test_rows):
            balanced = undersample_dataset(prompting_results.iloc[rows])
            sets.append(
                get_features_and_targets_for_dataset(
                    balanced, vertical, position, include_mlps, include_mlps_l1, include_mhsa
                )
            )
        (train, y_train), (test, y_test) = sets
        if len(y_train) == 0:
            raise ValueError("no training examples")
        n_layers = train.shape[1]
        if len(y_test) == 0:
            empty = dict.fromkeys(("layer", "success_rate", "nb_test_examples", "nb_train_examples"))
            records.extend({**empty, "relation_group_id": group} for _ in range(n_layers))
            continue
        for layer, (x_train, x_test) in enumerate(zip(np.moveaxis(train, 1, 0), np.moveaxis(test, 1, 0))):
            probe = fit_probe(x_train[:, 0], y_train)
            records.append(
                {
                    "layer": layer,
                    "relation_group_id": group,
                    "success_rate": probe.score(x_test[:, 0], y_test),
                    "nb_test_examples": len(y_test),
                    "nb_train_examples": len(y_train),
                }
            )
    return records
