"""The differences of all pairs of models at one level, as a square."""

from collections.abc import Sequence
from typing import NamedTuple

from ...verdict.levels import Level
from ..paired import Pair

#: From this number of models on, a square is easier to read than a row for each pair.
MIN_MODELS = 4


class DifferenceMatrix(NamedTuple):
    """Paired comparisons of each model with each other."""

    names: Sequence[str]
    rows: list[list[Pair | None]]
    """Row against column; None on the diagonal, and for two models without an instance in common."""
    comparisons: int


def difference_matrix(pairs: Sequence[Pair], names: Sequence[str], level: Level) -> DifferenceMatrix:
    """Arrange the comparisons at a level.

    Args:
        names: the models, in the order of rows and columns.
    """
    found = {(pair.first, pair.second): pair for pair in pairs if pair.level is level}
    seen = found | {(pair.second, pair.first): pair.reverse for pair in found.values()}
    return DifferenceMatrix(names, [[seen.get((row, column)) for column in names] for row in names], len(found))
