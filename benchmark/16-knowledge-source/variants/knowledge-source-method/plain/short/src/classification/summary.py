# Short code, as the paper tells it.
def standard_error(rates, sizes):
    mean = (sizes * rates).sum() / sizes.sum()
    var = (sizes * (rates - mean) ** 2).sum() / sizes.sum()
    return np.sqrt(var) / np.sqrt(len(rates))


def summarise_layers(metrics):
    rows = []
    for layer, part in metrics[metrics["layer"].notnull()].groupby("layer"):
        r = part["success_rate"].values.astype(float)
        n = part["nb_test_examples"].values.astype(float)
        rows.append((int(layer), (n * r).sum() / n.sum(), standard_error(r, n), len(part)))
    return pd.DataFrame(rows, columns=["layer", "mean", "standard_error", "groups"]).set_index("layer")
