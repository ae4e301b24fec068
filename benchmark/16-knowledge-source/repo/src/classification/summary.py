"""Success rates of the relation groups summed up for each layer."""

import numpy as np
import pandas as pd


def standard_error(rates: np.ndarray, sizes: np.ndarray) -> float:
    """s of the paper for one layer.

    Args:
        rates: (groups,) float64, SR of each group.
        sizes: (groups,) float64, |T| of each group, not 0.
    """
    variance = np.average((rates - np.average(rates, weights=sizes)) ** 2, weights=sizes)
    return float(np.sqrt(variance / len(rates)))


def summarise_layers(metrics: pd.DataFrame) -> pd.DataFrame:
    """Mean success rate of each layer over the relation groups, and its standard error (Equations 6 to 9).

    Args:
        metrics: columns layer, success_rate and nb_test_examples, one row a record. Records whose layer is missing (of
            groups without test examples) are ignored.

    Returns:
        Frame indexed by layer, in increasing order, with the columns mean, standard_error and groups (how many there
        are).
    """
    rows = {}
    for layer, part in metrics.dropna(subset=["layer"]).groupby("layer"):
        rates, weights = (part[name].to_numpy(dtype=float) for name in ("success_rate", "nb_test_examples"))
        mean = np.average(rates, weights=weights)
        rows[int(layer)] = {"mean": mean, "standard_error": standard_error(rates, weights), "groups": len(part)}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("layer")
