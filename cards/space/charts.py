"""What the charts show, as positions in per cent: score against cost, and scores by category.

The page draws them with plain elements, so that text keeps its size on a phone. Points carry a model's rank beside
their colour: nothing is told by colour alone.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from board import Ranked
from lines import Line

#: Models in a chart; the first ones of the ranking.
MAX_POINTS, MAX_PROFILES = 12, 6
#: Half of the distance that two labels need, in per cent of the height.
_LABEL = 5.5


@dataclass(frozen=True)
class Point:
    """A model in the chart of score against cost.

    Attributes:
        x, y: position of the point; `low` and `high` are the ends of its interval.
        label_y: where its name stands, so that names do not cover each other.
        frontier: nothing shown that costs as little is better.
    """

    item: Ranked
    x: float
    y: float
    low: float
    high: float
    label_y: float
    frontier: bool

    @property
    def line(self) -> Line:
        return self.item.best

    @property
    def is_left(self) -> bool:
        """Whether its name stands before it, for want of room behind."""
        return self.x > 60


@dataclass(frozen=True)
class Scatter:
    """Score against cost, with a logarithmic axis of cost.

    Attributes:
        ticks: position and label of the marks of the axis.
        steps: (left, bottom, width) of the best score that so much money buys.
    """

    points: list[Point]
    ticks: list[tuple[float, str]]
    steps: list[tuple[float, float, float]]


def make_scatter(ranked: Sequence[Ranked]) -> Scatter | None:
    """The chart of the models whose submitters state a cost; None if there are fewer than two."""
    known = [item for item in ranked if item.best.cost][:MAX_POINTS]
    if len(known) < 2:
        return None
    logs = {id(item): math.log10(item.best.cost or 1) for item in known}
    low, high = math.floor(min(logs.values())), math.ceil(max(logs.values()))
    high = max(high, low + 1)
    points = []
    for item in known:
        line = item.best
        cheaper = [other.best.score for other in known if (other.best.cost or 0) <= (line.cost or 0)]
        x = 100 * (logs[id(item)] - low) / (high - low)
        start, end = (100 * value for value in line.interval)
        points.append(Point(item, x, 100 * line.score, start, end, 100 * line.score, line.score >= max(cheaper)))
    ticks = [(100 * (power - low) / (high - low), _dollars(10.0**power)) for power in range(low, high + 1)]
    front = sorted({(point.x, point.y) for point in points if point.frontier})
    ends = [x for x, _ in front[1:]] + [100.0]
    steps = [(x, y, end - x) for (x, y), end in zip(front, ends, strict=True)]
    return Scatter(_spread(points), ticks, steps)


def make_profile(ranked: Sequence[Ranked]) -> list[tuple[str, list[tuple[int, Ranked, float, int]]]]:
    """(category, points); a point is (number of the model, model, score in per cent, place among equals).

    Empty if there are fewer than two categories.
    """
    shown = ranked[:MAX_PROFILES]
    categories = sorted({name for item in shown for name in item.best.profile})
    if len(categories) < 2:
        return []
    rows = []
    for category in categories:
        points: list[tuple[int, Ranked, float, int]] = []
        for number, item in enumerate(shown, start=1):
            value = 100 * item.best.profile[category]
            # Points at one place stand beside each other.
            points.append((number, item, value, sum(abs(other[2] - value) < 4 for other in points)))
        rows.append((category, points))
    return rows


def _spread(points: list[Point]) -> list[Point]:
    """The points with labels moved apart, from below."""
    placed: list[Point] = []
    for point in sorted(points, key=lambda point: point.y):
        left, right = _extent(point)
        label = point.y
        for other in sorted(placed, key=lambda other: other.label_y):
            start, end = _extent(other)
            if left < end and start < right and abs(other.label_y - label) < 2 * _LABEL:
                label = other.label_y + 2 * _LABEL
        placed.append(replace(point, label_y=label))
    return placed


def _extent(point: Point) -> tuple[float, float]:
    """From where to where a label reaches, in per cent of the width; the letters of a chart that is not narrow."""
    width = 4 + 1.4 * min(28, len(point.line.entry.model.rpartition("/")[2]))
    return (point.x - width, point.x) if point.is_left else (point.x, point.x + width)


def _dollars(value: float) -> str:
    return f"${value:,.0f}" if value >= 1 else f"${value:g}"
