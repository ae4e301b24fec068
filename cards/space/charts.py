"""The chart of score against cost: positions in percent.

`charts.js` draws the frontier and places the names, because both follow the search. Points carry
the model's rank: colour alone carries no information.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from board import Line, Ranked

#: Number of models in the chart, from the top of the ranking.
MAX_POINTS = 40
#: Height of 100% in percent of the plot: there is room for names above it.
_TOP = 92.0
#: Position and label of each mark of the axis of scores.
_LEVELS = [(_TOP * value / 100, str(value)) for value in (0, 25, 50, 75, 100)]
#: Most marks of the cost axis before only powers of ten remain.
_MAX_TICKS = 7
#: Room beside the cheapest and the dearest model, in powers of ten.
_MARGIN = 0.15


class Point(NamedTuple):
    """A model in the chart.

    Attributes:
        x, y: position of the point from the left and from below.
        low, high: the ends of its interval.
    """

    rank: int
    line: Line
    x: float
    y: float
    low: float
    high: float


class Scatter(NamedTuple):
    """Score against cost, with a logarithmic cost axis.

    Attributes:
        ticks, levels: position and label of each mark of the axes.
    """

    points: list[Point]
    ticks: list[tuple[float, str]]
    levels: list[tuple[float, str]]


def make_scatter(ranked: Sequence[Ranked]) -> Scatter | None:
    """Make the chart of the models with a stated cost; None if there are fewer than two."""
    priced = [item for item in ranked if item.latest.score.claimed_cost_usd][:MAX_POINTS]
    if len(priced) < 2:
        return None
    costs = [math.log10(item.latest.score.claimed_cost_usd) for item in priced]
    low = min(costs) - _MARGIN
    high = max(costs) + _MARGIN

    def place(cost: float) -> float:
        return 100 * (cost - low) / (high - low)

    points = [_point(item, place(cost)) for item, cost in zip(priced, costs, strict=True)]
    ticks = [(place(math.log10(mark)), _dollars(mark)) for mark in _marks(low, high)]
    return Scatter(points, ticks, _LEVELS)


def _point(item: Ranked, x: float) -> Point:
    line = item.latest
    low, high = line.score.interval
    return Point(item.rank, line, x, _TOP * line.rate, _TOP * low, _TOP * high)


def _marks(low: float, high: float) -> list[float]:
    """Return 1, 2 and 5 times the powers of ten in a range; if many, these powers alone."""
    marks = []
    for power in range(math.floor(low), math.ceil(high) + 1):
        for step in (1, 2, 5):
            mark = step * 10.0**power
            if low <= math.log10(mark) <= high:
                marks.append(mark)
    if len(marks) > _MAX_TICKS:
        marks = [mark for mark in marks if math.log10(mark).is_integer()]
    return marks


def _dollars(value: float) -> str:
    return f"${value:,.0f}" if value >= 1 else f"${value:g}"
