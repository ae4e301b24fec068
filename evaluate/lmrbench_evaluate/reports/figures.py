"""Draw a report for a paper: figures one column wide as SVG and PDF, tables as LaTeX and CSV.

A figure holds one track and setting, because their scores never share an order. Equal reports give
equal files.
"""

import re
import textwrap
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any

import matplotlib.style
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from lmrbench_data.base.names import child_path
from lmrbench_data.base.proportions import Interval
from lmrbench_data.base.text import one_line

from ..verdict.levels import Level, reaches
from .data import ReportData
from .score_tables import category_table, column, levels, pair_table, summary_table
from .scores import ModelScore, Scores, only_difficulty, with_difficulties
from .text_table import Table, csv_cell

#: Width of a column in the field's styles, in inches.
WIDTH = 3.3
#: Height of a line of text, in inches.
LINE = 0.14
#: Colours that stay different with any colour vision (Okabe and Ito).
COLOURS = ("#0072b2", "#d55e00", "#007a5a", "#a3487f", "#1f2328")
MARKERS = "osD^vPX*"
_STYLE: Any = {
    "font.size": 8,
    "axes.labelsize": "medium",
    "xtick.labelsize": "medium",
    "ytick.labelsize": "medium",
    "legend.fontsize": "medium",
    "text.parse_math": False,  # a model's name may contain dollars
    "pdf.fonttype": 42,  # TrueType: conferences refuse Type 3
    "svg.fonttype": "none",
    "svg.hashsalt": "lmr-bench",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "figure.constrained_layout.use": True,
}
_LOOK: dict[str, Any] = {"ms": 4, "clip_on": False}
#: Draws the scores of one track and setting, best first, at the level that ranks the track.
Draw = Callable[..., None]
#: Form → metadata without times and versions.
_METADATA: dict[str, dict[str, None]] = {
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}


def write_figures(report: ReportData, folder: Path) -> list[Path]:
    """Write all figures and tables that a report has data for, and return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    with matplotlib.style.context(_STYLE, after_reset=True), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the font lacks letters of some names
        for suffix, scores in _groups(report.scores):
            for name, draw in CHARTS.items():
                if figure := draw_figure(draw, scores):
                    written += _save(figure, folder, name + suffix)
    for name, frame in _tables(report).items():
        written += _write_table(frame, folder / name)
    return written


def _groups(scores: Scores) -> Iterator[tuple[str, Scores]]:
    """Yield the scores of each track and setting, with the suffix of their files, if several."""
    groups: dict[tuple[str, str], list[ModelScore]] = {}
    for score in scores:
        groups.setdefault((score.track, score.setting), []).append(score)
    for number, ((track, setting), members) in enumerate(groups.items(), 1):
        slug = re.sub(r"[^A-Za-z0-9]+", "-", setting).strip("-")[:40] or f"setting-{number}"
        yield f"-{track}-{slug}" if len(groups) > 1 else "", members


def _save(figure: Figure, folder: Path, name: str) -> Iterator[Path]:
    for form, metadata in _METADATA.items():
        path = child_path(folder, name, f".{form}")
        figure.savefig(path, metadata=metadata)
        yield path


def draw_figure(draw: Draw, scores: Scores) -> Figure | None:
    """Draw a chart with its legend; return None if no score has the data."""
    figure = Figure(figsize=(WIDTH, 2))
    axes: Axes = figure.subplots()
    draw(axes, scores, scores[0].headline)
    handles, labels = axes.get_legend_handles_labels()
    if not labels:
        return None
    labels = [textwrap.fill(label, 44) for label in labels]
    lines = sum(label.count("\n") + 1 for label in labels)
    figure.set_figheight(figure.get_figheight() + LINE * lines + 0.1)
    figure.legend(handles, labels, loc="outside lower center", labelspacing=0.2)
    return figure


def draw_scores(axes: Axes, scores: Scores, level: Level) -> None:
    """Draw a row per model: the level that ranks the track with its interval; the other level."""
    frame = _frame(with_difficulties(scores))
    if frame.empty:
        return
    names = [textwrap.fill(name, 20) for name in frame.name]
    lines = max(name.count("\n") + 2 for name in names)
    figure: Any = axes.figure
    figure.set_figheight(0.45 + LINE * lines * len(names))
    axes.set(xlim=(0, 100), ylim=(len(names) - 0.5, -0.5))
    axes.set_xlabel(f"% of instances {level}{only_difficulty(frame.score)}")
    axes.set_yticks(frame.index, names)
    look = {**_LOOK, "color": COLOURS[0], "fmt": "o", "label": f"{level} with 95% CI"}
    axes.errorbar(frame.value, frame.index, xerr=[frame.below, frame.above], **look)
    for other in set(levels(scores)) - {level}:
        marks = [100 * (score.overall.share(other).value or 0) for score in frame.score]
        look = {**_LOOK, "color": COLOURS[1], "fillstyle": "none", "label": str(other)}
        axes.plot(marks, frame.index, "D", **look)


def draw_pass_at(axes: Axes, scores: Scores, level: Level) -> None:
    """Draw pass@k (solid) and pass^k (dashed) at the ranking level with their intervals over k."""
    shown = [score for score in scores if score.samples > 1]
    axes.set(xscale="log", ylim=(0, 100), ylabel=f"pass@k, {level} (%)")
    axes.set_xlabel("k (samples); dashed: pass^k")
    for score, look in zip(shown, _looks(shown, scores), strict=True):
        _draw_rates(axes, score, score.pass_at(level), look)
        dashed = {**look, "label": None, "fillstyle": "none", "linestyle": "--"}
        _draw_rates(axes, score, score.pass_all(level), dashed)
    ks = sorted(set().union(*(score.sample_counts for score in shown)))
    axes.set_xticks(ks, map(str, ks))
    axes.minorticks_off()


def _draw_rates(axes: Axes, score: ModelScore, rates: Mapping[int, float], look: Any) -> None:
    frame = pd.DataFrame(_point(rate, score.rate_interval(rate)) for rate in rates.values())
    axes.errorbar([*rates], frame.value, [frame.below, frame.above], **look)


def draw_cost(axes: Axes, scores: Scores, level: Level) -> None:
    """Draw the ranking level with its interval over the mean cost of an answer."""
    axes.set(ylim=(0, 100), ylabel=f"{level} (% of instances)")
    axes.set_xlabel("mean cost per answer (US dollars)")
    frame = _frame([score for score in scores if score.spending.answers["cost_usd"]])
    for row, look in zip(frame.itertuples(), _looks(frame.score, scores), strict=True):
        cost = row.score.spending.mean("cost_usd")
        axes.errorbar(cost, row.value, [[row.below], [row.above]], ls="", **look)
    if axes.dataLim.x0 > 0:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_major_formatter("{x:g}")
        axes.minorticks_off()


def draw_within(
    axes: Axes, scores: Scores, level: Level, amounts: Sequence[str], unit: str
) -> None:
    """Draw the share of answers that reach the ranking level within a budget (`amounts`, summed).

    An answer that does not reach the level never counts, whatever it spent, so a curve ends at the
    model's rate. A model is left out if an answer that reaches the level states no amount.
    """
    budgets = dict(_budgets(scores, amounts))
    split = with_difficulties(scores)
    shown = [split[number] for number in budgets]
    most = max(map(max, budgets.values()), default=0)
    axes.set(xlim=(0, most or 1), ylim=(0, 100), xlabel=f"budget per answer ({unit})")
    axes.set_ylabel(f"% {level} within it")
    for score, spent, look in zip(shown, budgets.values(), _looks(shown, scores), strict=True):
        count = score.overall.reached(level)
        share = 100 * count / score.overall.total
        look["markevery"] = slice(1, count + 1)
        heights = [*np.linspace(0, share, count + 1), share]
        axes.plot([0, *spent[:count], most], heights, drawstyle="steps-post", **look)


def _budgets(scores: Scores, amounts: Sequence[str]) -> Iterator[tuple[int, list[float]]]:
    """Yield what the answers of each score spent: those that reach the level, then the others."""
    for number, score in enumerate(with_difficulties(scores)):
        spent: dict[bool, list[float]] = {True: [], False: []}
        for _, answer in score.each_answer():
            if answer.amounts.keys() >= set(amounts):
                budget = sum(answer.amounts[name] for name in amounts)
                spent[reaches(answer.outcome, score.headline)].append(budget)
        budgets = sorted(spent[True]) + spent[False]
        if budgets and len(spent[True]) == score.overall.reached(score.headline):
            yield number, budgets


#: Stem of the files → chart.
CHARTS: dict[str, Draw] = {
    "scores": draw_scores,
    "pass-at-k": draw_pass_at,
    "cost": draw_cost,
    "within-cpu": partial(draw_within, amounts=["cpu_s"], unit="CPU seconds"),
    "within-tokens": partial(draw_within, amounts=["input_tokens", "output_tokens"], unit="tokens"),
    "within-cost": partial(draw_within, amounts=["cost_usd"], unit="US dollars"),
}


def _frame(scores: Scores) -> pd.DataFrame:
    """Return a row per graded score: its name, and its share at the ranking level in percent."""
    rows = []
    for score in scores:
        if score.overall.graded:
            share = score.overall.share(score.headline)
            point = _point(share.value, share.interval)
            rows.append({"score": score, "name": _name(score, scores), **point})
    return pd.DataFrame(rows, columns=["score", "name", "value", "below", "above"])


def _point(share: float | None, interval: Interval) -> dict[str, float]:
    """Return a share in percent, and the lengths of its interval below and above it."""
    value = 100 * (share or 0)
    low, high = interval
    return {"value": value, "below": max(0, value - 100 * low), "above": max(0, 100 * high - value)}


def _name(score: ModelScore, scores: Scores) -> str:
    return one_line(column(score, scores)) + ("" if score.complete else " [incomplete]")


def _looks(shown: Scores, scores: Scores) -> Iterator[dict[str, Any]]:
    """Yield the look of each score that is shown."""
    for score, marker, colour in zip(shown, cycle(MARKERS), cycle(COLOURS), strict=False):
        label = f" {_name(score, scores)}"  # matplotlib hides one that starts with an underscore
        yield {**_LOOK, "label": label, "marker": marker, "color": colour}


def _tables(report: ReportData) -> dict[str, pd.DataFrame]:
    """Return the tables that have rows."""
    pairs = {str(level): _as_frame(pair_table(report.pairs, level)) for level in Level}
    frames = {
        "scores": _as_frame(summary_table(with_difficulties(report.scores))),
        "differences": pd.concat(pairs, names=["level"]).reset_index(level="level"),
        "categories": _as_frame(category_table(report.scores)),
    }
    return {name: frame for name, frame in frames.items() if len(frame)}


def _as_frame(table: Table) -> pd.DataFrame:
    header, rows = table
    return pd.DataFrame(rows, columns=header).map(one_line).rename(columns=one_line)


def _write_table(frame: pd.DataFrame, stem: Path) -> Iterator[Path]:
    for suffix, text in {".tex": _latex(frame), ".csv": _csv(frame)}.items():
        path = stem.with_suffix(suffix)
        path.write_text(text, encoding="utf-8")
        yield path


def _latex(frame: pd.DataFrame) -> str:
    r"""Return a `tabular` for booktabs; names are escaped, and none is read as an option of \\."""
    style = frame.style.format(escape="latex").hide(axis="index")
    text = str(style.format_index(escape="latex", axis="columns").to_latex(hrules=True))
    return re.sub(r"^(?=[\[*])", "{}", text, flags=re.M)


def _csv(frame: pd.DataFrame) -> str:
    safe = frame.map(_csv_cell).rename(columns=csv_cell)
    return str(safe.to_csv(index=False, lineterminator="\n"))


def _csv_cell(text: str) -> str:
    """Return a cell; a spreadsheet may read signed numbers and intervals as what they are."""
    return text if re.fullmatch(r"[-+\d. ]+", text) else str(csv_cell(text))
