import pandas as pd


def perform_classification_by_relation_group(
    prompting_results, include_mlps, include_mlps_l1, include_mhsa, vertical, position
):
    parts = dict(list(prompting_results.groupby("relation_group_id")))
    records = []
    for group, test_set in parts.items():
        train_set = pd.concat([part for name, part in parts.items() if name != group])
        features = []
        for rows in (train_set, test_set):
            features += get_features_and_targets_for_dataset(
                undersample_dataset(rows), vertical, position, include_mlps, include_mlps_l1, include_mhsa
            )
        X_train, y_train, X_test, y_test = features
        for layer in range(X_train.shape[1]):
            probe = fit_probe(X_train[:, layer].reshape(len(X_train), -1), y_train)
            accuracy = probe.score(X_test[:, layer].reshape(len(X_test), -1), y_test)
            records.append(
                {
                    "layer": layer,
                    "relation_group_id": group,
                    "success_rate": accuracy,
                    "nb_test_examples": len(X_test),
                    "nb_train_examples": len(X_train),
                }
            )
    return records
