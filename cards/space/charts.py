"""The data of the charts, as positions in percent: score against cost, and scores by category.

The page draws them with plain elements, so that text keeps its size on a phone. Points carry the model's rank: colour
alone carries no information.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from board import Ranked
from scored_models import ScoredModel

#: Number of models in a chart, from the top of the ranking.
MAX_POINTS, MAX_PROFILES = 12, 6
#: Half the distance between two labels, in percent of the height.
_LABEL = 5.5


@dataclass(frozen=True)
class Point:
    """A model in the chart of score against cost.

    Attributes:
        x, y: position of the point; `low` and `high` are the ends of its interval.
        label_y: position of its name, chosen so that names do not overlap.
        frontier: whether no shown model is both as cheap and better.
    """

    item: Ranked
    x: float
    y: float
    low: float
    high: float
    label_y: float
    frontier: bool

    @property
    def model(self) -> ScoredModel:
        return self.item.best

    @property
    def is_left(self) -> bool:
        """Whether the name is to the left of the point, because there is no room to the right."""
        return self.x > 60


@dataclass(frozen=True)
class Scatter:
    """Score against cost, with a logarithmic cost axis.

    Attributes:
        ticks: position and label of each mark of the axis.
        steps: (left, bottom, width) of each step of the best score for a cost.
    """

    points: list[Point]
    ticks: list[tuple[float, str]]
    steps: list[tuple[float, float, float]]


def make_scatter(ranked: Sequence[Ranked]) -> Scatter | None:
    """Make the chart of the models with a stated cost; None if there are fewer than two."""
    known = [item for item in ranked if item.best.cost][:MAX_POINTS]
    if len(known) < 2:
        return None
    logs = {id(item): math.log10(item.best.cost or 1) for item in known}
    low, high = math.floor(min(logs.values())), math.ceil(max(logs.values()))
    high = max(high, low + 1)
    points = []
    for item in known:
        model = item.best
        cheaper = [other.best.score for other in known if (other.best.cost or 0) <= (model.cost or 0)]
        x = 100 * (logs[id(item)] - low) / (high - low)
        start, end = (100 * value for value in model.interval)
        points.append(Point(item, x, 100 * model.score, start, end, 100 * model.score, model.score >= max(cheaper)))
    ticks = [(100 * (power - low) / (high - low), _dollars(10.0**power)) for power in range(low, high + 1)]
    front = sorted({(point.x, point.y) for point in points if point.frontier})
    ends = [x for x, _ in front[1:]] + [100.0]
    steps = [(x, y, end - x) for (x, y), end in zip(front, ends, strict=True)]
    return Scatter(_spread(points), ticks, steps)


def make_profile(ranked: Sequence[Ranked]) -> list[tuple[str, list[tuple[int, Ranked, float, int]]]]:
    """Return (category, points); a point is (number of the model, model, score in percent, place among equals).

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
            # Points at the same position are drawn side by side.
            points.append((number, item, value, sum(abs(other[2] - value) < 4 for other in points)))
        rows.append((category, points))
    return rows


def _spread(points: list[Point]) -> list[Point]:
    """Move labels apart, from the bottom up."""
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
    """Return the horizontal extent of a label in percent of the width, for a chart of normal width."""
    width = 4 + 1.4 * min(28, len(point.model.entry.model.rpartition("/")[2]))
    return (point.x - width, point.x) if point.is_left else (point.x, point.x + width)


def _dollars(value: float) -> str:
    return f"${value:,.0f}" if value >= 1 else f"${value:g}"
