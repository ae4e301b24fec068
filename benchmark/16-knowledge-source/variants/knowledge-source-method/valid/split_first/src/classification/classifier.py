# Makes all sets first, by positions, then fits the probes.
import numpy as np
import pandas as pd


def success_rate(predicted, targets) -> float:
    return int(np.count_nonzero(predicted == targets)) / len(targets)


def perform_classification_by_relation_group(
    prompting_results, include_mlps, include_mlps_l1, include_mhsa, vertical, position
):
    codes, groups = pd.factorize(prompting_results["relation_group_id"])
    sets = []
    for code in range(len(groups)):
        parts = [np.flatnonzero(codes != code), np.flatnonzero(codes == code)]
        sets.append(
            [
                get_features_and_targets_for_dataset(
                    undersample_dataset(prompting_results.iloc[part]),
                    vertical,
                    position,
                    include_mlps,
                    include_mlps_l1,
                    include_mhsa,
                )
                for part in parts
            ]
        )
    records = []
    for group, ((features, targets), (test_features, test_targets)) in zip(groups, sets):
        for layer in range(features.shape[1]):
            rate = None
            if len(test_targets):
                probe = fit_probe(features[:, layer, 0], targets)
                rate = success_rate(probe.predict(test_features[:, layer, 0]), test_targets)
            known = rate is not None
            records.append(
                {
                    "layer": layer if known else None,
                    "relation_group_id": group,
                    "success_rate": rate,
                    "nb_test_examples": len(test_targets) if known else None,
                    "nb_train_examples": len(targets) if known else None,
                }
            )
    return records
