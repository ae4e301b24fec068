# Expands the variance, and lets pandas sum by layer.
import numpy as np
import pandas as pd


def standard_error(rates, sizes) -> float:
    shares = sizes / sizes.sum()
    mean = shares @ rates
    return float(np.sqrt(max(shares @ (rates - mean) ** 2, 0.0) / rates.size))


def summarise_layers(metrics: pd.DataFrame) -> pd.DataFrame:
    rows = metrics[metrics["layer"].notna()].astype({"layer": int, "success_rate": float, "nb_test_examples": float})
    rows["hits"] = rows["success_rate"] * rows["nb_test_examples"]
    layers = rows.groupby("layer")
    summary = (layers["hits"].sum() / layers["nb_test_examples"].sum()).to_frame("mean")
    summary["standard_error"] = [
        standard_error(part["success_rate"].to_numpy(), part["nb_test_examples"].to_numpy()) for _, part in layers
    ]
    summary["groups"] = layers.size()
    return summary
