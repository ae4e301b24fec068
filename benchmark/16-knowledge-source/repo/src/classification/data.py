"""Data of the probes: balanced sets of prompts, and their activations as arrays."""

import numpy as np
import pandas as pd

from src import config


def undersample_dataset(dataset: pd.DataFrame) -> pd.DataFrame:
    """As many prompts of each knowledge source as the rarer one has, drawn without replacement with a fixed seed.

    Returns:
        The drawn rows, source by source in the order of `config.KNOWLEDGE_SOURCES`; rows with other labels are dropped.
    """
    parts = [dataset[dataset["knowledge_source"] == source] for source in config.KNOWLEDGE_SOURCES]
    size = min(map(len, parts))
    return pd.concat([part.sample(size, random_state=config.SAMPLING_SEED) for part in parts])


def get_features_and_targets_for_dataset(
    dataset: pd.DataFrame,
    vertical: bool,
    position: str,
    include_mlps: bool,
    include_mlps_l1: bool,
    include_mhsa: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """Activations and classes of prompts.

    Args:
        dataset: n rows with knowledge_source and a column for every chosen module.
        vertical: True: the token position `position` alone; False: all stored positions, and `position` is ignored.
        position: one of `config.POSITIONS`.
        include_mlps, include_mlps_l1, include_mhsa: which modules are chosen.

    Returns:
        Activations, float64 (n, L, tokens, d), and classes, int64 (n,), which are positions in
        `config.KNOWLEDGE_SOURCES`. Several modules follow each other on the layer axis, in the order of
        `config.MODULES`. If n is 0, the activations have the shape (0,).

    Raises:
        ValueError: no module, or modules of different width d.
    """
    chosen = dict(zip(config.MODULES, (include_mhsa, include_mlps, include_mlps_l1), strict=True))
    modules = [module for module, is_chosen in chosen.items() if is_chosen]
    if not modules:
        raise ValueError("choose at least one module")
    positions = (position,) if vertical else config.POSITIONS
    rows = []
    for cells in dataset[modules].itertuples(index=False, name=None):
        by_module = [np.concatenate([cell[name] for name in positions], axis=1) for cell in cells]
        rows.append(np.concatenate(by_module, axis=0))
    targets = [config.KNOWLEDGE_SOURCES.index(source) for source in dataset["knowledge_source"]]
    return np.array(rows, dtype=np.float64), np.array(targets, dtype=np.int64)
