import numpy as np


def perform_classification_by_relation_group(
    prompting_results, include_mlps, include_mlps_l1, include_mhsa, vertical, position
):
    parts = dict(list(prompting_results.groupby("relation_group_id", sort=False)))
    select = (vertical, position, include_mlps, include_mlps_l1, include_mhsa)
    keys = ("layer", "success_rate", "nb_test_examples", "nb_train_examples", "relation_group_id")
    records = []
    for group, part in parts.items():
        mask = np.array([value != group for value in prompting_results["relation_group_id"]], dtype=bool)
        train, y_train = get_features_and_targets_for_dataset(undersample_dataset(prompting_results[mask]), *select)
        if train.ndim == 1:
            raise ValueError(group)
        test, y_test = get_features_and_targets_for_dataset(undersample_dataset(part), *select)
        for layer in range(train.shape[1]):
            values = [None] * 4
            if test.ndim > 1:
                wrong = fit_probe(train[:, layer, 0], y_train).predict(test[:, layer, 0]) ^ y_test
                values = [layer, 1 - wrong.sum() / len(wrong), len(y_test), len(y_train)]
            records.append(dict(zip(keys, [*values, group])))
    return records
