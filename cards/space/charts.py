"""The data of the charts: score against cost as positions in percent, and scores by category as a table.

`charts.js` draws the frontier and places the names, because both follow the search. Points carry the model's rank:
colour alone carries no information.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from board import Ranked
from scored_models import ScoredModel

#: Number of models in the chart, from the top of the ranking.
MAX_POINTS = 40
#: Height of 100 % in percent of the plot: there is room for names above it.
_TOP = 92.0
#: Most marks of the cost axis before only powers of ten remain.
_MAX_TICKS = 7


@dataclass(frozen=True)
class Point:
    """A model in the chart of score against cost.

    Attributes:
        x, y: position of the point from the left and from below; `low` and `high` are the ends of its interval.
    """

    item: Ranked
    x: float
    y: float
    low: float
    high: float

    @property
    def model(self) -> ScoredModel:
        return self.item.latest


@dataclass(frozen=True)
class Scatter:
    """Score against cost, with a logarithmic cost axis.

    Attributes:
        ticks, levels: position and label of each mark of the axes.
    """

    points: list[Point]
    ticks: list[tuple[float, str]]
    levels: list[tuple[float, str]]


@dataclass(frozen=True)
class CategoryCell:
    """A model's rows in a category: how many reached the ranking level, and all."""

    model: ScoredModel
    reached: int
    total: int

    @property
    def share(self) -> float:
        """The part that reached the level, from 0 to 1."""
        return self.reached / self.total


def make_scatter(ranked: Sequence[Ranked]) -> Scatter | None:
    """Make the chart of the models with a stated cost; None if there are fewer than two."""
    known = [item for item in ranked if item.latest.cost][:MAX_POINTS]
    if len(known) < 2:
        return None
    logs = [math.log10(item.latest.cost or 1) for item in known]
    low, high = min(logs) - 0.15, max(logs) + 0.15
    points = [
        Point(
            item,
            100 * (log - low) / (high - low),
            _TOP * item.latest.score,
            *(_TOP * end for end in item.latest.interval),
        )
        for item, log in zip(known, logs, strict=True)
    ]
    marks = [(power, step) for power in range(math.floor(low), math.ceil(high) + 1) for step in (1, 2, 5)]
    marks = [(power, step) for power, step in marks if low <= power + math.log10(step) <= high]
    if len(marks) > _MAX_TICKS:
        marks = [(power, step) for power, step in marks if step == 1]
    ticks = [
        (100 * (power + math.log10(step) - low) / (high - low), _dollars(step * 10.0**power)) for power, step in marks
    ]
    return Scatter(points, ticks, [(_TOP * value / 100, str(value)) for value in (0, 25, 50, 75, 100)])


def make_categories(models: Sequence[ScoredModel]) -> list[tuple[str, list[CategoryCell]]]:
    """Return (category, one cell per model) by category."""
    categories = sorted({name for model in models for name in model.profile})
    return [(name, [CategoryCell(model, *model.profile[name]) for model in models]) for name in categories]


def _dollars(value: float) -> str:
    return f"${value:,.0f}" if value >= 1 else f"${value:g}"
