"""Probing of the knowledge source with relation groups held out in turn (Section 4.3)."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from src.classification.data import get_features_and_targets_for_dataset, undersample_dataset
from src.classification.probe import fit_probe


def success_rate(predicted: np.ndarray, targets: np.ndarray) -> float:
    """SR of the paper from classes, two arrays (n,) of 0 (CK) and 1 (PK); n is not 0."""
    return float((predicted == targets).mean())


def perform_classification_by_relation_group(
    prompting_results: pd.DataFrame,
    include_mlps: bool,
    include_mlps_l1: bool,
    include_mhsa: bool,
    vertical: bool,
    position: str,
) -> list[dict[str, Any]]:
    """Success rate of a probe on every layer and every relation group (Section 4.3).

    Sets are balanced by `undersample_dataset`, with their rows in the order of the frame. Activations come from
    `get_features_and_targets_for_dataset`, and probes from `fit_probe`.

    Args:
        prompting_results: one row a prompt, as `prompt_with_counter_knowledge` returns it: columns knowledge_source,
            relation_group_id and the activations of the modules.
        include_mlps: probe the column "mlp".
        include_mlps_l1: probe the column "mlp-l1".
        include_mhsa: probe the column "mhsa".
        vertical: as for `get_features_and_targets_for_dataset`.
        position: as for `get_features_and_targets_for_dataset`.

    Returns:
        Records with the keys layer (from 0), relation_group_id, success_rate, nb_test_examples and nb_train_examples
        (|T_g| of the paper, and the number of prompts that the probe was fitted to). Group by group in the order of
        first appearance, and layer by layer within a group. Where no test prompt is left, all values but
        relation_group_id are None.

    Raises:
        ValueError: no module is chosen, or the modules differ in width, or there is nothing to train on.
    """

    def balanced(is_member: pd.Series) -> tuple[np.ndarray, np.ndarray]:
        rows = undersample_dataset(prompting_results[is_member])
        return get_features_and_targets_for_dataset(
            rows, vertical, position, include_mlps, include_mlps_l1, include_mhsa
        )

    group_ids = prompting_results["relation_group_id"]
    records = []
    for group in group_ids.unique():
        train, train_targets = balanced(group_ids != group)
        test, test_targets = balanced(group_ids == group)
        if not train.size:
            raise ValueError(f"no balanced prompts outside of relation group {group!r}")
        for layer in range(train.shape[1]):
            record: dict[str, Any] = dict.fromkeys(
                ["layer", "relation_group_id", "success_rate", "nb_test_examples", "nb_train_examples"]
            )
            record["relation_group_id"] = group
            if test.size:
                probe = fit_probe(train[:, layer, 0], train_targets)
                record["layer"] = layer
                record["success_rate"] = success_rate(probe.predict(test[:, layer, 0]), test_targets)
                record["nb_test_examples"] = len(test_targets)
                record["nb_train_examples"] = len(train_targets)
            records.append(record)
    return records


def save_classification_metrics(records: list[dict[str, Any]], path: Path) -> None:
    """Write records as a CSV file, one line each; None becomes an empty cell."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(records).to_csv(path, index=False)
