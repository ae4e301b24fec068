"""The plots of the page: matplotlib's SVG, with text kept as text and colours left to the page's styles."""

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ....text import visible
from ...judge.category import BEST_FIRST
from ..levels import Level

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..scores import ModelScore

#: Stand-ins that matplotlib draws with, and the variables of style.css that take their place.
_TEXT, _GRID, _BACK = "#010203", "#020304", "#030405"
_SERIES = [f"#0a0b{number:02x}" for number in range(12)]
_JUDGED = {name: f"#0c0d{number:02x}" for number, name in enumerate(BEST_FIRST)}
_VARIABLES = {
    _TEXT: "var(--text)",
    _GRID: "var(--line)",
    _BACK: "var(--back)",
    **{colour: f"var(--series-{number % 6})" for number, colour in enumerate(_SERIES)},
    **{colour: f"var(--{name.lower()})" for name, colour in _JUDGED.items()},
}
_ROW_INCHES = 0.42


@dataclass(frozen=True)
class Plot:
    """A figure: its SVG, and what it shows in words."""

    title: str
    description: str
    svg: str


def draw_plots(scores: Sequence["ModelScore"], names: Sequence[str]) -> list[Plot]:
    """All plots that these scores allow.

    Args:
        names: what each of `scores` is called.
    """
    import matplotlib

    if not scores:
        return []
    # Names are text: a dollar in one starts no formula.
    with matplotlib.rc_context({"svg.fonttype": "none", "text.parse_math": False, "font.size": 10.5}):
        drawn = [plot(scores, names) for plot in (_accuracy, _categories, _judge)]
    return [plot for plot in drawn if plot]


def _accuracy(scores: Sequence["ModelScore"], names: Sequence[str]) -> Plot | None:
    """Both levels of each model with their 95 % intervals: reproduced filled, robust hollow."""
    axes = _axes(1.4 * len(scores))
    for position, score in enumerate(reversed(scores)):
        colour = _SERIES[(len(scores) - 1 - position) % len(_SERIES)]
        for level, place, back in ((Level.REPRODUCED, 0.17, colour), (Level.ROBUST, -0.17, _BACK)):
            tally, at = score.overall, position + place
            low, high = (100 * bound for bound in tally.interval(level))
            share = 100 * tally.reached(level) / tally.total
            axes.plot([low, high], [at, at], color=colour, linewidth=2, solid_capstyle="round")
            axes.plot([share], [at], "o", color=colour, markerfacecolor=back, markersize=7, clip_on=False, zorder=3)
            axes.text(103, at, f"{share:.1f} %", va="center", color=_TEXT, fontsize=9)
    _finish(axes, list(reversed(names)), "Instances, %, with 95 % Wilson intervals")
    words = "A filled dot is reproduced, a hollow one robust; the numbers stand in the table."
    return Plot("Reproduced and robust", words, _svg(axes))


def _categories(scores: Sequence["ModelScore"], names: Sequence[str]) -> Plot | None:
    """Each model in each category at the level that leads its track, grouped bars."""
    categories = sorted({name for score in scores for name in score.categories})
    if len(categories) < 2 or len(scores) > 8:
        return None
    levels = sorted({str(score.headline) for score in scores})
    axes = _axes(max(len(categories) * len(scores) * 0.42, 2.5))
    height = 0.8 / len(scores)
    for number, (score, name) in enumerate(zip(scores, names, strict=True)):
        places, shares = [], []
        for row, category in enumerate(reversed(categories)):
            tally = score.categories.get(category)
            places.append(row + 0.4 - height * (number + 0.5))
            shares.append(100 * tally.reached(score.headline) / tally.total if tally and tally.total else 0)
        axes.barh(places, shares, height * 0.92, color=_SERIES[number], label=_label(name))
    _finish(axes, list(reversed(categories)), f"{' or '.join(levels).capitalize()}, by category, %")
    _legend(axes, len(scores))
    return Plot("By category", "Bars for each model; the numbers stand in the table by category.", _svg(axes))


def _judge(scores: Sequence["ModelScore"], names: Sequence[str]) -> Plot | None:
    """Shares of the judge's categories, stacked."""
    judged = [(score, name) for score, name in zip(scores, names, strict=True) if score.overall.has_category]
    if not judged:
        return None
    axes = _axes(len(judged))
    places = list(range(len(judged) - 1, -1, -1))
    left = [0.0] * len(judged)
    for category in BEST_FIRST:
        shares = [100 * score.overall.judged[category] / score.overall.judge_base for score, _ in judged]
        axes.barh(places, shares, 0.62, left=left, color=_JUDGED[category], label=category)
        for place, start, width in zip(places, left, shares, strict=True):
            if width > 8:
                axes.text(start + width / 2, place, f"{width:.0f}", ha="center", va="center", color=_BACK)
        left = [start + width for start, width in zip(left, shares, strict=True)]
    _finish(axes, [name for _, name in reversed(judged)], "Judge's categories, %")
    _legend(axes, len(BEST_FIRST))
    return Plot("Judge", "Shares of CC, LC and LI for each model; the numbers stand in the table.", _svg(axes))


def _label(name: str) -> str:
    """A name that XML can hold, and that matplotlib neither hides (leading underscore) nor shortens to nothing."""
    plain = visible(name, keep="")
    plain = plain if len(plain) <= 48 else f"{plain[:47]}…"
    return f"\N{ZERO WIDTH SPACE}{plain}" if plain.startswith("_") else plain


def _axes(rows: float) -> "Axes":
    # The object interface: no global state, no window system.
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.0, 1.0 + _ROW_INCHES * rows))
    FigureCanvasSVG(figure)
    return figure.add_subplot()


def _finish(axes: "Axes", names: Sequence[str], label: str) -> None:
    axes.set_xlim(0, 100)
    axes.set_yticks(range(len(names)))
    axes.set_yticklabels([_label(name) for name in names])
    axes.set_ylim(-0.6, len(names) - 0.4)
    axes.set_xlabel(label, color=_TEXT)
    axes.grid(axis="x", color=_GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(colors=_TEXT, length=0)
    for side in axes.spines.values():
        side.set_visible(False)


def _legend(axes: "Axes", columns: int) -> None:
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=min(columns, 4), frameon=False, labelcolor=_TEXT)


def _svg(axes: Any) -> str:
    """The figure as an element of an HTML page."""
    import matplotlib

    out = io.StringIO()
    # Ids of elements depend on the salt: those of two plots on a page must differ.
    with matplotlib.rc_context({"svg.hashsalt": axes.get_xlabel()}):
        axes.get_figure().savefig(out, format="svg", transparent=True, bbox_inches="tight", metadata={"Date": None})
    svg = out.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    for stand_in, variable in _VARIABLES.items():
        svg = svg.replace(stand_in, variable)
    return svg.replace("<svg ", '<svg aria-hidden="true" focusable="false" ', 1)
