# Trains on one group and tests on all others.
def perform_classification_by_relation_group(
    prompting_results, include_mlps, include_mlps_l1, include_mhsa, vertical, position
):
    args = (vertical, position, include_mlps, include_mlps_l1, include_mhsa)
    records = []
    for group in prompting_results["relation_group_id"].unique():
        mask = prompting_results["relation_group_id"] == group
        train, train_targets = get_features_and_targets_for_dataset(undersample_dataset(prompting_results[mask]), *args)
        test, test_targets = get_features_and_targets_for_dataset(undersample_dataset(prompting_results[~mask]), *args)
        for layer in range(train.shape[1]):
            probe = fit_probe(train[:, layer, 0], train_targets)
            records.append(
                {
                    "layer": layer,
                    "relation_group_id": group,
                    "success_rate": success_rate(probe.predict(test[:, layer, 0]), test_targets),
                    "nb_test_examples": len(test_targets),
                    "nb_train_examples": len(train_targets),
                }
            )
    return records
