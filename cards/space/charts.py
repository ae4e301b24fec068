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
#: Height of 100%, in percent of the plot: there is room for names above it.
_TOP = 92.0
#: Position and label of each mark of the axis of scores.
_LEVELS = [(_TOP * value / 100, str(value)) for value in (0, 25, 50, 75, 100)]
#: Largest number of marks on the cost axis; if there are more, only powers of ten remain.
_MAX_TICKS = 7
#: Room beside the cheapest and the dearest model, in powers of ten.
_MARGIN = 0.15


class Point(NamedTuple):
    """A model in the chart.

    Attributes:
        x, y: position of the point from the left and from the bottom.
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


class _Axis(NamedTuple):
    """A logarithmic axis of costs; its ends are exponents of ten."""

    low: float
    high: float

    def place(self, exponent: float) -> float:
        return 100 * (exponent - self.low) / (self.high - self.low)

    def ticks(self) -> list[tuple[float, str]]:
        """Return marks at 1, 2 and 5 times the powers of ten; if many, at these powers alone."""
        marks = self._multiples((1, 2, 5))
        if len(marks) > _MAX_TICKS:
            marks = self._multiples((1,))
        return [(self.place(math.log10(mark)), _dollars(mark)) for mark in marks]

    def _multiples(self, steps: Sequence[int]) -> list[float]:
        marks = []
        for power in range(math.floor(self.low), math.ceil(self.high) + 1):
            marks += [step * 10.0**power for step in steps]
        return [mark for mark in marks if self.low <= math.log10(mark) <= self.high]


def make_scatter(ranked: Sequence[Ranked]) -> Scatter | None:
    """Make the chart of the models with a cost above zero; None if there are fewer than two."""
    priced = [item for item in ranked if item.latest.score.claimed_cost_usd][:MAX_POINTS]
    if len(priced) < 2:
        return None
    exponents = [math.log10(item.latest.score.claimed_cost_usd) for item in priced]
    axis = _Axis(min(exponents) - _MARGIN, max(exponents) + _MARGIN)
    places = map(axis.place, exponents)
    points = [_point(item, place) for item, place in zip(priced, places, strict=True)]
    return Scatter(points, axis.ticks(), _LEVELS)


def _point(item: Ranked, x: float) -> Point:
    line = item.latest
    low, high = line.score.interval
    return Point(item.rank, line, x, _TOP * line.rate, _TOP * low, _TOP * high)


def _dollars(value: float) -> str:
    return f"${value:,.0f}" if value >= 1 else f"${value:g}"
