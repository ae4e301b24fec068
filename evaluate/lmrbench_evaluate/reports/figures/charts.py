"""The charts of a paper: scores, pass@k, score against cost, how choices were read, and open choices settled.

Each takes the scores of one track and setting, best first, with their names.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from lmrbench_data.base.shares import Share

from ..score_tables import levels
from ..scores import READ, ModelScore
from .canvas import BLUE, GREY, INK, ORANGE, legend_below, legend_height, model_styles, new_figure
from .rows import Row, rows_figure

#: A cost axis whose ends differ by more than this factor is logarithmic.
_WIDE = 8
#: How an altered choice was decided → colour and hatching.
_FILLS = {"read": (BLUE, ""), "recited": (ORANGE, "////"), "neither": ("#868e96", "....")}
#: Percent of a bar that has room for its number.
_ROOM = 10


class Chart(NamedTuple):
    """A figure, or None where the runs lack its data."""

    figure: Figure | None
    missing: str = ""
    """The reason why there is no figure, or the models that it leaves out and why."""


def draw_scores(scores: Sequence[ModelScore], names: Sequence[str]) -> Chart:
    """Draw a forest plot: the ranking level with its 95 % interval, and the other level."""
    shown, missing = _those(scores, names, [bool(score.overall.graded) for score in scores], "nothing was graded")
    if not shown:
        return Chart(None, missing)
    level = scores[0].headline
    others = [other for other in levels(scores) if other is not level]
    labels = [f"{level}, 95 % CI", *map(str, others)]
    handles = [_interval_mark(), *(_hollow() for _ in others)]
    shares = [(name, score.overall.share(level)) for score, name in shown]
    figure, axes, rows = _forest(shares, f"% of instances {level}", legend_height(labels))
    for other in others:
        values = [100 * (score.overall.share(other).value or 0) for score, _ in shown]
        axes.plot(values, [row.place for row in rows], "D", color=ORANGE, markerfacecolor="white", markersize=4)
    legend_below(figure, handles, labels)
    return Chart(figure, missing)


def draw_settled(scores: Sequence[ModelScore], names: Sequence[str]) -> Chart:
    """Draw the share of open choices that each model settled, beside the share that guessing settles."""
    reason = "no answer to a paper that leaves choices open (config underspecified)"
    shown, missing = _those(scores, names, [score.has_open_choices for score in scores], reason)
    if not shown:
        return Chart(None, missing)
    shown.sort(key=lambda item: -(item[0].settled().value or 0))
    labels = ["settled, 95 % CI", "guessing"]
    shares = [(name, score.settled()) for score, name in shown]
    figure, axes, rows = _forest(shares, "% of open choices settled", legend_height(labels))
    for (score, _), row in zip(shown, rows, strict=True):
        axes.plot(100 * score.chance, row.place, "|", color=ORANGE, markersize=8, markeredgewidth=1.6)
    guessing = Line2D([], [], color=ORANGE, marker="|", markersize=7, markeredgewidth=1.6, linestyle="")
    legend_below(figure, [_interval_mark(), guessing], labels)
    return Chart(figure, missing)


def draw_pass_at(scores: Sequence[ModelScore], names: Sequence[str]) -> Chart:
    """Draw pass@k at the ranking level over k, one line a model."""
    shown, missing = _those(scores, names, [score.samples > 1 for score in scores], "one sample per instance")
    if not shown:
        return Chart(None, missing)
    level, named = scores[0].headline, [name for _, name in shown]
    figure, axes = new_figure(1.9 + legend_height(named))
    handles, found = [], [score.pass_at(level) for score, _ in shown]
    for rates, look in zip(found, model_styles(names, named), strict=True):
        handles += axes.plot(list(rates), [100 * rate for rate in rates.values()], clip_on=False, **look)
    ks = sorted({k for rates in found for k in rates})
    axes.set_xscale("log")
    axes.set_xticks(ks, list(map(str, ks)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("k (samples)")
    axes.set_ylabel(f"pass@k, {level} (%)")
    _fit_percent(axes, [100 * rate for rates in found for rate in rates.values()])
    axes.yaxis.grid()
    legend_below(figure, handles, named)
    return Chart(figure, missing)


def draw_cost(scores: Sequence[ModelScore], names: Sequence[str]) -> Chart:
    """Draw the score with its 95 % interval over the mean cost of an answer; join the models that no other beats."""
    level = scores[0].headline
    means = [score.spending.mean("cost_usd") if score.overall.graded else None for score in scores]
    reason = "no cost stated (cost_usd in the metadata of predictions)"
    shown, missing = _those(scores, names, [mean is not None for mean in means], reason)
    if not shown:
        return Chart(None, missing)
    costs = [mean for mean in means if mean is not None]
    shares = [score.overall.share(level) for score, _ in shown]
    labels = [name for _, name in shown]
    looks = model_styles(names, labels)
    handles = [Line2D([], [], **look | {"linestyle": ""}) for look in looks]
    frontier = _frontier((cost, 100 * (share.value or 0)) for cost, share in zip(costs, shares, strict=True))
    if len(frontier) > 1:
        handles.append(Line2D([], [], color=GREY, linestyle=":", linewidth=1))
        labels.append("frontier")
    figure, axes = new_figure(2.0 + legend_height(labels))
    for cost, share, look in zip(costs, shares, looks, strict=True):
        axes.plot([cost, cost], [100 * bound for bound in share.interval], color=look["color"], linewidth=0.9)
        axes.plot(cost, 100 * (share.value or 0), **look | {"markersize": 5.5}, zorder=3, clip_on=False)
    if len(frontier) > 1:
        axes.plot(*zip(*frontier, strict=True), color=GREY, linestyle=":", linewidth=1, drawstyle="steps-post")
    _scale_costs(axes, costs)
    axes.set_xlabel("mean cost per answer (US dollars)")
    axes.set_ylabel(f"{level} (% of instances)")
    axes.set_ylim(0, 100)
    axes.yaxis.grid()
    legend_below(figure, handles, labels)
    return Chart(figure, missing)


def draw_readings(scores: Sequence[ModelScore], names: Sequence[str]) -> Chart:
    """Draw how each model decided altered choices: read from the paper, recited as published, or neither."""
    reason = "no answer to a paper with altered choices (config counterfactual)"
    shown, missing = _those(scores, names, [score.has_readings for score in scores], reason)
    if not shown:
        return Chart(None, missing)
    shown.sort(key=lambda item: -(item[0].reading(*READ["read"]).value or 0))
    figure, axes, rows = rows_figure([name for _, name in shown], legend_height(list(READ)))
    for (score, _), row in zip(shown, rows, strict=True):
        start = 0.0
        for kind, readings in READ.items():
            width = 100 * (score.reading(*readings).value or 0)
            colour, hatch = _FILLS[kind]
            axes.barh(row.place, width, 1.1, left=start, color=colour, hatch=hatch, edgecolor="white", linewidth=0.4)
            if width >= _ROOM:
                plate = {"facecolor": "white", "edgecolor": "none", "pad": 0.6} if hatch else None
                number = axes.text(start + width / 2, row.place, f"{width:.0f}", ha="center", va="center_baseline")
                number.set(color=INK if hatch else "white", bbox=plate)
            start += width
    axes.set_xlabel("% of altered choices")
    handles = [Patch(facecolor=colour, hatch=hatch, edgecolor="white") for colour, hatch in _FILLS.values()]
    legend_below(figure, handles, list(_FILLS))
    return Chart(figure, missing)


#: Stem of the files → chart.
CHARTS: dict[str, Callable[[Sequence[ModelScore], Sequence[str]], Chart]] = {
    "scores": draw_scores,
    "pass-at-k": draw_pass_at,
    "cost": draw_cost,
    "readings": draw_readings,
    "settled": draw_settled,
}


def _those(
    scores: Sequence[ModelScore], names: Sequence[str], has_data: Sequence[bool], reason: str
) -> tuple[list[tuple[ModelScore, str]], str]:
    """Return the scores that have the data with their names, and a note on the others."""
    shown = [(score, name) for score, name, has in zip(scores, names, has_data, strict=True) if has]
    without = [name for name, has in zip(names, has_data, strict=True) if not has]
    return shown, reason if not shown else f"without {', '.join(without)}: {reason}" if without else ""


def _forest(shares: Sequence[tuple[str, Share]], label: str, extra: float) -> tuple[Figure, Axes, list[Row]]:
    """Return a plot with a row for each share: a point, its interval, and both as text."""
    figure, axes, rows = rows_figure([name for name, _ in shares], extra)
    for (_, share), row in zip(shares, rows, strict=True):
        value, (low, high) = 100 * (share.value or 0), (100 * bound for bound in share.interval)
        axes.plot([low, high], [row.place] * 2, color=BLUE, linewidth=1.4, solid_capstyle="butt")
        axes.plot(value, row.place, "o", color=BLUE, markersize=4.5, clip_on=False, zorder=3)
        row.annotate(axes, f"{value:.1f} [{low:.0f}, {high:.0f}]")
    axes.set_xlabel(label)
    axes.xaxis.grid()
    return figure, axes, rows


def _interval_mark() -> Line2D:
    return Line2D([], [], color=BLUE, marker="o", markersize=4.5, linewidth=1.4)


def _hollow() -> Line2D:
    return Line2D([], [], color=ORANGE, marker="D", markerfacecolor="white", markersize=4, linestyle="")


def _scale_costs(axes: Axes, costs: Sequence[float]) -> None:
    """Scale the cost axis logarithmically if the costs are far apart."""
    if min(costs) > 0 and max(costs) > _WIDE * min(costs):
        axes.set_xscale("log")
        axes.set_xlim(min(costs) / 1.5, max(costs) * 1.5)
        axes.xaxis.set_major_locator(LogLocator(subs=(1,) if max(costs) > 100 * min(costs) else (1, 2, 5)))
        axes.xaxis.set_minor_locator(NullLocator())
    else:
        axes.set_xlim(0, 1.15 * max(costs) or 1)
        axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def _fit_percent(axes: Axes, values: Sequence[float]) -> None:
    """Show the values with some room, within 0 to 100 %."""
    room = max(5.0, 0.1 * (max(values) - min(values)))
    axes.set_ylim(max(0.0, min(values) - room), min(100.0, max(values) + room))
    axes.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))


def _frontier(points: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the points that no other beats in cost and score, cheapest first."""
    best: list[tuple[float, float]] = []
    for cost, value in sorted(points, key=lambda point: (point[0], -point[1])):
        if not best or value > best[-1][1]:
            best.append((cost, value))
    return best
