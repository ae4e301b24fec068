# Another style: a list comprehension a formula.
import math


def standard_error(rates, sizes) -> float:
    total = sum(sizes)
    mean = sum(size * rate for size, rate in zip(sizes, rates)) / total
    variance = sum(size * (rate - mean) ** 2 for size, rate in zip(sizes, rates)) / total
    return math.sqrt(variance / len(rates))


def summarise_layers(metrics: pd.DataFrame) -> pd.DataFrame:
    valid = metrics.dropna(subset=["layer"])
    layers = sorted(valid["layer"].unique())
    summary = {"mean": [], "standard_error": [], "groups": []}
    for layer in layers:
        part = valid[valid["layer"] == layer]
        rates = part["success_rate"].astype(float).to_numpy()
        sizes = part["nb_test_examples"].astype(float).to_numpy()
        summary["mean"].append(np.sum(rates * sizes) / np.sum(sizes))
        summary["standard_error"].append(standard_error(rates, sizes))
        summary["groups"].append(len(part))
    return pd.DataFrame(summary, index=pd.Index([int(layer) for layer in layers], name="layer"))
