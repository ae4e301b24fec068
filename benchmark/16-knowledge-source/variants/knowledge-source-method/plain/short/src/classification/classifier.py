# Short code, as the paper tells it.
def success_rate(predicted, targets):
    return np.mean(predicted == targets)


def perform_classification_by_relation_group(
    prompting_results, include_mlps, include_mlps_l1, include_mhsa, vertical, position
):
    records = []
    for g in prompting_results["relation_group_id"].unique():
        mask = prompting_results["relation_group_id"] == g
        args = (vertical, position, include_mlps, include_mlps_l1, include_mhsa)
        x, y = get_features_and_targets_for_dataset(undersample_dataset(prompting_results[~mask]), *args)
        xt, yt = get_features_and_targets_for_dataset(undersample_dataset(prompting_results[mask]), *args)
        for layer in range(x.shape[1]):
            if len(yt) == 0:
                records.append(
                    {
                        "layer": None,
                        "relation_group_id": g,
                        "success_rate": None,
                        "nb_test_examples": None,
                        "nb_train_examples": None,
                    }
                )
                continue
            p = fit_probe(x[:, layer, 0, :], y)
            records.append(
                {
                    "layer": layer,
                    "relation_group_id": g,
                    "success_rate": success_rate(p.predict(xt[:, layer, 0, :]), yt),
                    "nb_test_examples": len(yt),
                    "nb_train_examples": len(y),
                }
            )
    return records
