# Averages the groups without weights.
def summarise_layers(metrics):
    rows = {}
    for layer, part in metrics.dropna(subset=["layer"]).groupby("layer"):
        rates, sizes = (part[name].to_numpy(dtype=float) for name in ("success_rate", "nb_test_examples"))
        rows[int(layer)] = {"mean": rates.mean(), "standard_error": standard_error(rates, sizes), "groups": len(part)}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("layer")
