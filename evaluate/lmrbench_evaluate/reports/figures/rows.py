"""Plots from 0 to 100 % with a row for each model, as tall as its name needs."""

from collections.abc import Sequence
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .canvas import new_figure
from .names import short_names, wrapped

#: Characters of a name, and of one of its lines.
_NAME, _LINE = 60, 20
#: Inches of a line of text; the unit of the vertical axis.
_INCHES = 0.13
#: Height of a row beyond that of its name's first line.
_GAP = 0.75
#: Inches below a plot: numbers and label of the axis.
_AXIS = 0.42


class Row(NamedTuple):
    """A row of a plot."""

    place: float
    """Its centre on the vertical axis."""

    def annotate(self, axes: Axes, text: str) -> None:
        """Write a text at the right of the row."""
        at = 1, self.place
        axes.annotate(text, at, (6, 0), ("axes fraction", "data"), textcoords="offset points", va="center_baseline")


def rows_figure(names: Sequence[str], extra: float) -> tuple[Figure, Axes, list[Row]]:
    """Return a plot with a row for each name, the first on top.

    Args:
        extra: height below the plot, inches.
    """
    labels = [wrapped(name, _LINE) for name in short_names(names, _NAME)]
    rows, end = [], 0.0
    for label in labels:
        height = label.count("\n") + 1 + _GAP
        rows.append(Row(end + height / 2))
        end += height
    figure, axes = new_figure(_AXIS + _INCHES * end + extra)
    axes.set_yticks([row.place for row in rows], labels, linespacing=0.95)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.set_ylim(end, 0)
    axes.set_xlim(0, 100)
    axes.set_xticks(range(0, 101, 25))
    return figure, axes, rows
