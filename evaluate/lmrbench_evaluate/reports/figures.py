"""Draw a report for a paper: figures one column wide as SVG and PDF, tables as LaTeX.

A figure holds one track and setting, because their scores never share an order. Equal reports give
equal files.
"""

import re
import textwrap
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import matplotlib.style
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lmrbench_data.base.files import errors_name, write_atomically
from lmrbench_data.base.names import child_path
from lmrbench_data.base.proportions import Interval
from lmrbench_data.base.text import one_line

from ..verdict.levels import Level
from .data import ReportData
from .score_tables import category_table, column, levels, pair_table, summary_table
from .scores import ModelScore, Scores, only_difficulty, with_difficulties
from .text_table import Table

#: Width of a column in the field's styles, and height of a line of text, in inches.
WIDTH, LINE = 3.3, 0.14
#: Colours that stay different with any colour vision (Okabe and Ito).
COLOURS = ("#0072b2", "#d55e00", "#007a5a", "#a3487f", "#1f2328")
MARKERS = "osD^vPX*"
_SIZES = ("axes.labelsize", "xtick.labelsize", "ytick.labelsize", "legend.fontsize")
_STYLE: Any = {
    "font.size": 8,
    **dict.fromkeys(_SIZES, "medium"),
    "text.parse_math": False,  # a model's name may contain dollars
    "pdf.fonttype": 42,  # TrueType: conferences refuse Type 3
    "svg.fonttype": "none",
    "svg.hashsalt": "lmr-bench",
    **dict.fromkeys(("axes.spines.top", "axes.spines.right", "legend.frameon"), False),
    "figure.constrained_layout.use": True,
}
_LOOK: dict[str, Any] = {"ms": 4, "clip_on": False}
#: Draws the scores of one track and setting, best first, at the level that ranks the track.
Draw = Callable[[Axes, Scores, Level], None]
#: Form → metadata that names times and versions, and is left out.
_METADATA = {"svg": ("Date", "Creator"), "pdf": ("CreationDate", "Creator", "Producer")}


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
    for name, table in _tables(report).items():
        if table[1]:
            written.append(folder / f"{name}.tex")
            write_atomically(written[-1], _latex(table))
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
    for form, keys in _METADATA.items():
        path = child_path(folder, name, f".{form}")
        with errors_name(path):
            figure.savefig(path, metadata=dict.fromkeys(keys))
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
    shown = [score for score in with_difficulties(scores) if score.overall.graded]
    if not shown:
        return
    names = [textwrap.fill(_name(score, shown), 20) for score in shown]
    lines = max(name.count("\n") + 2 for name in names)
    rows = range(len(names))
    figure: Any = axes.figure
    figure.set_figheight(0.45 + LINE * lines * len(names))
    axes.set(xlim=(0, 100), ylim=(len(names) - 0.5, -0.5))
    axes.set_xlabel(f"% of instances {level}{only_difficulty(shown)}")
    axes.set_yticks(rows, names)
    shares = [score.overall.share(level) for score in shown]
    marks = [100 * (share.value or 0) for share in shares]
    errors = _errors(marks, [share.interval for share in shares])
    look = {**_LOOK, "color": COLOURS[0], "fmt": "o", "label": f"{level} with 95% CI"}
    axes.errorbar(marks, rows, xerr=errors, **look)
    for other in set(levels(scores)) - {level}:
        marks = [100 * (score.overall.share(other).value or 0) for score in shown]
        look = {**_LOOK, "color": COLOURS[1], "fillstyle": "none", "label": str(other)}
        axes.plot(marks, rows, "D", **look)


def _errors(marks: Sequence[float], intervals: Sequence[Interval]) -> Any:
    """Return how far intervals reach below and above their marks, in percent."""
    low, high = 100 * np.array(intervals).T
    return np.clip([marks - low, high - marks], 0, None)


def draw_pass_at(axes: Axes, scores: Scores, level: Level) -> None:
    """Draw pass@k (solid) and pass^k (dashed) at the ranking level with their intervals over k."""
    axes.set(xscale="log", ylim=(0, 100), ylabel=f"pass@k, {level} (%)")
    axes.set_xlabel("k (samples); dashed: pass^k")
    shown = [score for score in scores if score.samples > 1]
    for score, marker, colour in zip(shown, cycle(MARKERS), cycle(COLOURS), strict=False):
        label = f" {_name(score, scores)}"  # matplotlib hides one that starts with an underscore
        look = {**_LOOK, "marker": marker, "color": colour, "label": label}
        _draw_rates(axes, score, score.pass_at(level), look)
        dashed = {**look, "label": None, "fillstyle": "none", "linestyle": "--"}
        _draw_rates(axes, score, score.pass_all(level), dashed)
    ks = sorted(set().union(*(score.sample_counts for score in shown)))
    axes.set_xticks(ks, map(str, ks))
    axes.minorticks_off()


def _draw_rates(axes: Axes, score: ModelScore, rates: Mapping[int, float], look: Any) -> None:
    marks = [100 * rate for rate in rates.values()]
    errors = _errors(marks, [score.rate_interval(rate) for rate in rates.values()])
    axes.errorbar([*rates], marks, errors, **look)


#: Stem of the files → chart.
CHARTS: dict[str, Draw] = {"scores": draw_scores, "pass-at-k": draw_pass_at}


def _name(score: ModelScore, scores: Scores) -> str:
    return one_line(column(score, scores)) + ("" if score.complete else " [incomplete]")


def _tables(report: ReportData) -> dict[str, Table]:
    header, _ = pair_table(report.pairs, Level.REPRODUCED)
    pairs = [[str(level), *row] for level in Level for row in pair_table(report.pairs, level)[1]]
    return {
        "scores": summary_table(with_difficulties(report.scores)),
        "differences": (["level", *header], pairs),
        "categories": category_table(report.scores),
    }


def _latex(table: Table) -> str:
    r"""Return a `tabular` for booktabs; names are escaped, and none is read as an option of \\."""
    header, rows = table
    frame = pd.DataFrame(rows, columns=header).map(one_line).rename(columns=one_line)
    style = frame.style.format(escape="latex").hide(axis="index")
    text = str(style.format_index(escape="latex", axis="columns").to_latex(hrules=True))
    return re.sub(r"^(?=[\[*])", "{}", text, flags=re.M)
