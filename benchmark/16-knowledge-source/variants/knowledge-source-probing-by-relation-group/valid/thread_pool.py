from concurrent.futures import ThreadPoolExecutor

from sklearn.metrics import accuracy_score


def _probe_layer(job):
    group, layer, train, test = job
    if not len(test[1]):
        return {
            "layer": None,
            "relation_group_id": group,
            "success_rate": None,
            "nb_test_examples": None,
            "nb_train_examples": None,
        }
    probe = fit_probe(train[0][:, layer, 0], train[1])
    return {
        "layer": layer,
        "relation_group_id": group,
        "success_rate": float(accuracy_score(test[1], probe.predict(test[0][:, layer, 0]))),
        "nb_test_examples": int(test[1].size),
        "nb_train_examples": int(train[1].size),
    }


def perform_classification_by_relation_group(
    prompting_results, include_mlps, include_mlps_l1, include_mhsa, vertical, position
):
    def arrays(rows):
        balanced = undersample_dataset(prompting_results.iloc[rows])
        return get_features_and_targets_for_dataset(
            balanced, vertical, position, include_mlps, include_mlps_l1, include_mhsa
        )

    ids = prompting_results["relation_group_id"].tolist()
    splits = [
        (group, [i for i, g in enumerate(ids) if g != group], [i for i, g in enumerate(ids) if g == group])
        for group in dict.fromkeys(ids)
    ]
    jobs = []
    for group, train_rows, test_rows in splits:
        train, test = arrays(train_rows), arrays(test_rows)
        if not len(train[1]):
            raise ValueError(f"nothing to train on besides group {group}")
        jobs += [(group, layer, train, test) for layer in range(train[0].shape[1])]
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(_probe_layer, jobs))
