"""The dialogues that a node of an open-loop search keeps, and what the values that passed through them say."""

from collections.abc import Sequence


def realization_limit(visits: int, constant: int) -> int:
    """How many realisations a node may keep; while it keeps fewer, a simulation that reaches it adds one.

    Args:
        visits: how often earlier simulations followed the edge that leads to the node, from 0.
        constant: `configs.realizations`, at least 1.
    """
    return constant


def wording_score(values: Sequence[float]) -> float:
    """How good it is to word an act in a certain way; the wording of the largest score is taken.

    Args:
        values: what simulations that passed through this wording backed up, in order; at least one.
    """
    return sum(values) / len(values)
