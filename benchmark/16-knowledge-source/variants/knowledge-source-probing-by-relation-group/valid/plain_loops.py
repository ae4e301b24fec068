import numpy as np


def perform_classification_by_relation_group(
    prompting_results, include_mlps, include_mlps_l1, include_mhsa, vertical, position
):
    results = prompting_results.reset_index(drop=True)
    options = dict(
        vertical=vertical,
        position=position,
        include_mlps=include_mlps,
        include_mlps_l1=include_mlps_l1,
        include_mhsa=include_mhsa,
    )
    records = []
    for group in dict.fromkeys(results["relation_group_id"].tolist()):
        in_group = (results["relation_group_id"] == group).to_numpy(dtype=bool)
        train_set = undersample_dataset(results.loc[~in_group])
        test_set = undersample_dataset(results.loc[in_group])
        X_train, y_train = get_features_and_targets_for_dataset(train_set, **options)
        if len(train_set) == 0:
            raise ValueError("the training set is empty")
        X_test, y_test = get_features_and_targets_for_dataset(test_set, **options)
        for layer in range(X_train.shape[1]):
            if len(test_set) == 0:
                records.append(
                    {
                        "layer": None,
                        "relation_group_id": group,
                        "success_rate": None,
                        "nb_test_examples": None,
                        "nb_train_examples": None,
                    }
                )
                continue
            predicted = fit_probe(X_train[:, layer, 0, :], y_train).predict(X_test[:, layer, 0, :])
            right = sum(int(a == b) for a, b in zip(predicted, y_test))
            records.append(
                {
                    "layer": layer,
                    "relation_group_id": group,
                    "success_rate": right / len(test_set),
                    "nb_test_examples": len(test_set),
                    "nb_train_examples": len(train_set),
                }
            )
    return records
