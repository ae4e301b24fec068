"""Success rates of the relation groups summed up for each layer."""

import numpy as np
import pandas as pd


def summarise_layers(metrics: pd.DataFrame) -> pd.DataFrame:
    """Mean success rate and its standard error for each layer, relation groups weighted by their test examples.

    Args:
        metrics: columns layer, success_rate and nb_test_examples; rows of groups without test examples are ignored.

    Returns:
        Frame indexed by layer with the columns mean, standard_error and groups. The error is the weighted deviation of
        the groups from the mean, divided by the square root of their number.
    """
    rows = {}
    for layer, part in metrics.dropna(subset=["layer"]).groupby("layer"):
        rates, weights = (part[name].to_numpy(dtype=float) for name in ("success_rate", "nb_test_examples"))
        mean = np.average(rates, weights=weights)
        variance = np.average((rates - mean) ** 2, weights=weights)
        rows[int(layer)] = {"mean": mean, "standard_error": np.sqrt(variance / len(part)), "groups": len(part)}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("layer")
