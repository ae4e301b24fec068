"""The chart of score against cost: positions in percent.

`charts.js` draws the frontier and places the names, because both follow the search. Points carry the model's rank:
colour alone carries no information.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from board import Line, Ranked

#: Number of models in the chart, from the top of the ranking.
MAX_POINTS = 40
#: Height of 100% in percent of the plot: there is room for names above it.
_TOP = 92.0
#: Most marks of the cost axis before only powers of ten remain.
_MAX_TICKS = 7


class Point(NamedTuple):
    """A model in the chart.

    Attributes:
        x, y: position of the point from the left and from below; `low` and `high` are the ends of its interval.
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
    priced = [
        (item, math.log10(cost)) for item in ranked if (cost := item.latest.score.claimed_cost_usd)
    ][:MAX_POINTS]
    if len(priced) < 2:
        return None
    low, high = min(log for _, log in priced) - 0.15, max(log for _, log in priced) + 0.15
    points = []
    for item, log in priced:
        line, x = item.latest, 100 * (log - low) / (high - low)
        points.append(
            Point(
                item.rank, line, x, _TOP * line.rate, *(_TOP * end for end in line.score.interval)
            )
        )
    marks = [
        (power, step) for power in range(math.floor(low), math.ceil(high) + 1) for step in (1, 2, 5)
    ]
    marks = [(power, step) for power, step in marks if low <= power + math.log10(step) <= high]
    if len(marks) > _MAX_TICKS:
        marks = [(power, step) for power, step in marks if step == 1]
    ticks = [
        (100 * (power + math.log10(step) - low) / (high - low), _dollars(step * 10.0**power))
        for power, step in marks
    ]
    return Scatter(
        points, ticks, [(_TOP * value / 100, str(value)) for value in (0, 25, 50, 75, 100)]
    )


def _dollars(value: float) -> str:
    return f"${value:,.0f}" if value >= 1 else f"${value:g}"
