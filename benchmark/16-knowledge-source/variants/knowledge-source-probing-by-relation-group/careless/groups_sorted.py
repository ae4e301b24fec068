# Takes the groups in sorted order.
import numpy as np
import pandas as pd


def perform_classification_by_relation_group(
    prompting_results, include_mlps, include_mlps_l1, include_mhsa, vertical, position
):
    def features(rows):
        return get_features_and_targets_for_dataset(
            rows, vertical, position, include_mlps, include_mlps_l1, include_mhsa
        )

    records = []
    groups = prompting_results["relation_group_id"].unique().tolist()
    groups = sorted(groups)
    for group in groups:
        held_out = prompting_results["relation_group_id"] == group
        train_rows = undersample_dataset(prompting_results[~held_out])
        test_rows = undersample_dataset(prompting_results[held_out])
        if train_rows.empty:
            raise ValueError("nothing to train on")
        X_train, y_train = features(train_rows)
        X_test, y_test = features(test_rows)
        for layer in range(X_train.shape[1]):
            record = {
                "layer": None,
                "relation_group_id": group,
                "success_rate": None,
                "nb_test_examples": None,
                "nb_train_examples": None,
            }
            if len(y_test):
                a, b = X_train[:, layer, 0], X_test[:, layer, 0]
                probe = fit_probe(a, y_train)
                record["layer"] = layer
                record["success_rate"] = float(np.mean(probe.predict(b) == y_test))
                record["nb_test_examples"] = len(y_test)
                record["nb_train_examples"] = len(y_train)
            records.append(record)
    return records
