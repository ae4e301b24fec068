import numpy as np


def perform_classification_by_relation_group(
    prompting_results, include_mlps, include_mlps_l1, include_mhsa, vertical, position
):
    sets = {}
    for group in np.unique(prompting_results["relation_group_id"]):
        in_group = prompting_results["relation_group_id"] == group
        pair = []
        for rows in (prompting_results[~in_group], prompting_results[in_group]):
            shuffled = rows[rows["knowledge_source"] != "ND"].sample(frac=1.0, random_state=16)
            balanced = undersample_dataset(shuffled)
            pair.append(
                get_features_and_targets_for_dataset(
                    balanced, vertical, position, include_mlps, include_mlps_l1, include_mhsa
                )
            )
        sets[group] = pair
    n_layers = next(iter(sets.values()))[0][0].shape[1]
    records = []
    for layer in range(n_layers):
        for group, ((X_train, y_train), (X_test, y_test)) in sets.items():
            predictions = fit_probe(X_train[:, layer].squeeze(1), y_train).predict(X_test[:, layer].squeeze(1))
            records.append(
                dict(
                    layer=layer,
                    relation_group_id=str(group),
                    success_rate=np.mean(predictions == y_test),
                    nb_test_examples=len(y_test),
                    nb_train_examples=len(y_train),
                )
            )
    return records
