"""Configuration with attribute access, and seeding."""

import random
from typing import Any

import numpy as np


class dotdict(dict[str, Any]):
    """A dict whose keys can also be read and set as attributes; a missing one is an AttributeError."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"no option {name!r}") from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value


def default_configs(**changes: Any) -> dotdict:
    """Options of the search, with changes.

    cpuct: weight of exploration in the selection of actions.
    num_MCTS_sims: searches from the root before an act is chosen.
    realizations: constant of the limit on the realisations of a node.
    Q_0: value of an action that was never tried.
    """
    configs = dotdict(cpuct=1.0, num_MCTS_sims=10, realizations=3, Q_0=0.25)
    if unknown := changes.keys() - configs.keys():
        raise ValueError(f"unknown options: {', '.join(sorted(unknown))}")
    configs.update(changes)
    return configs


def set_deterministic_seed(seed: int) -> None:
    """Seed the generators of Python and NumPy."""
    random.seed(seed)
    np.random.seed(seed)
