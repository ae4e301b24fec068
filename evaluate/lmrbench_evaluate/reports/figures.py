"""Draw a report for a paper: figures one column wide as SVG and PDF, tables as LaTeX and CSV.

A figure holds one track and setting, because their scores never share an order. Equal reports give equal files.
"""

import re
import textwrap
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any

import matplotlib
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from lmrbench_data.base.names import child_path
from lmrbench_data.base.proportions import Interval, wilson
from lmrbench_data.base.text import one_line
from lmrbench_data.base.text_table import csv_cell

from ..verdict.levels import reaches
from .data import ReportData
from .score_tables import column, levels
from .scores import ModelScore, only_difficulty, with_difficulties

#: Width of a column in the field's styles, height of a line of text, and height of the axis below a plot; inches.
WIDTH, LINE, AXIS = 3.3, 0.14, 0.45
#: Colours that stay different with any colour vision (Okabe and Ito).
COLOURS = ("#0072b2", "#d55e00", "#007a5a", "#a3487f", "#1f2328")
MARKERS = "osD^vPX*"
_STYLE: Any = {
    "font.size": 8,
    **dict.fromkeys(
        ("axes.labelsize", "xtick.labelsize", "ytick.labelsize", "legend.fontsize"), "medium"
    ),
    "text.parse_math": False,  # a model's name may contain dollars
    "pdf.fonttype": 42,  # TrueType: conferences refuse Type 3
    "svg.fonttype": "none",
    "svg.hashsalt": "lmr-bench",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "figure.constrained_layout.use": True,
}
#: Form → metadata without times and versions.
_METADATA: dict[str, dict[str, None]] = {
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
#: The scores of one track and setting, each with its name, best first.
Named = Sequence[tuple[str, ModelScore]]


def write_figures(report: ReportData, folder: Path) -> list[Path]:
    """Write all figures and tables that a report has data for, and return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    with matplotlib.rc_context(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the font lacks letters of some names
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        for suffix, scores in _groups(report.scores):
            for name, draw in CHARTS.items():
                if (figure := draw(scores)) is None:
                    continue
                for form, metadata in _METADATA.items():
                    written.append(child_path(folder, name + suffix, f".{form}"))
                    figure.savefig(written[-1], metadata=metadata)
    for name, frame in _tables(report).items():
        for form, text in {"tex": _latex(frame), "csv": _csv(frame)}.items():
            written.append(folder / f"{name}.{form}")
            written[-1].write_text(text, encoding="utf-8")
    return written


def _groups(scores: Sequence[ModelScore]) -> Iterator[tuple[str, Named]]:
    """Yield the scores of each track and setting, with the suffix of their files; empty for a single group."""
    keys = list(dict.fromkeys((score.track, score.setting) for score in scores))
    for number, (track, setting) in enumerate(keys, 1):
        parts = (
            track,
            re.sub(r"[^A-Za-z0-9]+", "-", setting).strip("-")[:40] or f"setting-{number}",
        )
        group = [score for score in scores if (score.track, score.setting) == (track, setting)]
        yield (
            "-".join(("", *parts)) if len(keys) > 1 else "",
            [(_name(score, group), score) for score in group],
        )


def _name(score: ModelScore, scores: Sequence[ModelScore]) -> str:
    return one_line(column(score, scores)) + ("" if score.complete else " [incomplete]")


def _with_difficulties(scores: Named) -> Named:
    """Return the scores, each followed by those on its rows of each difficulty if it has several."""
    split = with_difficulties(score for _, score in scores)
    return [(_name(score, split), score) for score in split]


# --- figures ----------------------------------------------------------------------------------------------------------


def draw_scores(scores: Named) -> Figure | None:
    """Draw a row per model, the first on top: the level that ranks the track with its interval, and the other level."""
    shown = [(name, score) for name, score in _with_difficulties(scores) if score.overall.graded]
    if not shown:
        return None
    level, names = scores[0][1].headline, [textwrap.fill(name, 20) for name, _ in shown]
    height = max(name.count("\n") + 2 for name in names) * LINE
    figure = Figure(figsize=(WIDTH, AXIS + height * len(names)))
    axes = figure.subplots()
    label = f"% of instances {level}" + only_difficulty(score for _, score in shown)
    axes.set(xlim=(0, 100), xticks=range(0, 101, 25), xlabel=label, ylim=(len(names) - 0.5, -0.5))
    axes.set_yticks(range(len(names)), names)
    places, shares = list(range(len(shown))), [score.overall.share(level) for _, score in shown]
    values, *lengths = zip(*(_percent(item.value, item.interval) for item in shares), strict=True)
    main = f"{level} with 95% CI"
    axes.errorbar(
        values, places, xerr=lengths, fmt="o", color=COLOURS[0], ms=4, label=main, clip_on=False
    )
    for other in levels(score for _, score in scores):
        if other is not level:
            marks = [100 * (score.overall.share(other).value or 0) for _, score in shown]
            axes.plot(
                marks, places, "D", color=COLOURS[1], ms=4, fillstyle="none", label=str(other)
            )
    axes.grid(axis="x", color="#d0d7de", linewidth=0.5)
    return _with_legend(figure, axes)


def draw_pass_at(scores: Named) -> Figure | None:
    """Draw pass@k at the ranking level with its interval over k, one line per model, side by side at each k."""
    shown = [(name, score) for name, score in scores if score.samples > 1]
    if not shown:
        return None
    figure, axes = _plot()
    level, ks = scores[0][1].headline, set[int]()
    for number, (score, look) in enumerate(_looks(shown)):
        rates, units = score.pass_at(level), len(score.scope)
        ks |= set(rates)
        places = [k * 1.02 ** (number - (len(shown) - 1) / 2) for k in rates]
        values, *lengths = zip(
            *(_percent(rate, wilson(rate * units, units)) for rate in rates.values()), strict=True
        )
        axes.errorbar(places, values, lengths, markersize=4, elinewidth=0.8, **look)
    axes.set(xscale="log", ylim=(0, 100), xlabel="k (samples)", ylabel=f"pass@k, {level} (%)")
    axes.set_xticks(sorted(ks), [str(k) for k in sorted(ks)])
    axes.minorticks_off()
    return _with_legend(figure, axes)


def draw_cost(scores: Named) -> Figure | None:
    """Draw the ranking level with its interval over the mean cost of an answer."""
    shown = [
        (name, score)
        for name, score in scores
        if score.overall.graded and score.spending.answers["cost_usd"]
    ]
    if not shown:
        return None
    figure, axes = _plot()
    level, costs = (
        scores[0][1].headline,
        [score.spending.mean("cost_usd") or 0 for _, score in shown],
    )
    for (score, look), cost in zip(_looks(shown), costs, strict=True):
        share = score.overall.share(level)
        value, below, above = _percent(share.value, share.interval)
        axes.errorbar(
            cost, value, [[below], [above]], linestyle="", markersize=5, elinewidth=0.8, **look
        )
    axes.set(
        ylim=(0, 100),
        xlabel="mean cost per answer (US dollars)",
        ylabel=f"{level} (% of instances)",
    )
    if 0 < 8 * min(costs) < max(costs):
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(
            LogLocator(subs=(1, 2, 5) if max(costs) < 100 * min(costs) else (1,))
        )
        axes.minorticks_off()
        axes.xaxis.set_major_formatter("{x:g}")
    return _with_legend(figure, axes)


def draw_within(scores: Named, names: Sequence[str], unit: str) -> Figure | None:
    """Draw the share of answers that reach the ranking level within a budget (the sum of these numbers of `NAMES`).

    An answer that does not reach the level never counts, whatever it spent, so a curve ends at the model's rate. A
    model is left out if an answer that reaches the level does not state what it spent.
    """
    level, curves = scores[0][1].headline, []
    for name, score in _with_difficulties(scores):
        answers = [
            answer
            for of in score.answers.values()
            for answer in of
            if {*names} <= answer.amounts.keys()
        ]
        spent = [
            (sum(map(answer.amounts.__getitem__, names)), reaches(answer.outcome, level))
            for answer in answers
        ]
        steps = sorted(amount for amount, is_hit in spent if is_hit)
        if spent and len(steps) == score.overall.reached(level):
            curves.append((name, score, steps, max(spent)[0]))
    if not curves:
        return None
    figure, axes = _plot()
    most = max(curve[-1] for curve in curves)
    for (score, look), (_, _, steps, _) in zip(
        _looks([curve[:2] for curve in curves]), curves, strict=True
    ):
        shares = [100 * count / score.overall.total for count in range(len(steps) + 1)]
        look |= {
            "markevery": range(1, len(steps) + 1),
            "markersize": 4,
        }  # no marks at the ends of the axis
        axes.plot([0, *steps, most], [*shares, shares[-1]], drawstyle="steps-post", **look)
    axes.set(xlim=(0, most or 1), ylim=(0, 100), xlabel=f"budget per answer ({unit})")
    axes.set_ylabel(f"% {level} within it")
    return _with_legend(figure, axes)


#: Stem of the files → chart; None if no score has the data.
CHARTS: dict[str, Callable[[Named], Figure | None]] = {
    "scores": draw_scores,
    "pass-at-k": draw_pass_at,
    "cost": draw_cost,
    "within-cpu": partial(draw_within, names=["cpu_s"], unit="CPU seconds"),
    "within-tokens": partial(draw_within, names=["input_tokens", "output_tokens"], unit="tokens"),
    "within-cost": partial(draw_within, names=["cost_usd"], unit="US dollars"),
}


def _percent(share: float | None, interval: Interval) -> tuple[float, float, float]:
    """Return a share in percent, and the lengths of its interval below and above it."""
    value, (low, high) = 100 * (share or 0), (100 * bound for bound in interval)
    return value, max(0.0, value - low), max(0.0, high - value)


def _looks(scores: Named) -> Iterator[tuple[ModelScore, dict[str, Any]]]:
    """Yield each score with its marker, colour and label."""
    for (name, score), marker, colour in zip(scores, cycle(MARKERS), cycle(COLOURS), strict=False):
        # matplotlib hides a label that starts with an underscore.
        yield score, {"marker": marker, "color": colour, "label": f" {name}", "clip_on": False}


def _plot() -> tuple[Figure, Axes]:
    figure = Figure(figsize=(WIDTH, 2.0))
    return figure, figure.subplots()


def _with_legend(figure: Figure, axes: Axes) -> Figure:
    """Explain the marks below the plot, and make the figure higher by as much."""
    handles, labels = axes.get_legend_handles_labels()
    labels = [textwrap.fill(label, 44) for label in labels]
    columns = max(1, min(3, int(54 / (9 + max(map(len, labels))))))  # 9: mark and gap
    figure.set_figheight(
        figure.get_figheight()
        + LINE * sum(label.count("\n") + 1 for label in labels[::columns])
        + 0.1
    )
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, labelspacing=0.2)
    return figure


# --- tables -----------------------------------------------------------------------------------------------------------


def _tables(report: ReportData) -> dict[str, pd.DataFrame]:
    """Return the tables that have rows: scores, paired differences, the ranking level by category."""
    scores, categories = [], []
    split = with_difficulties(report.scores)
    for score in split:
        record: dict[str, Any] = {"Model": _name(score, split), "Track": score.track}
        for level in levels(report.scores):
            share, title = score.overall.share(level), str(level).capitalize()
            record[title] = 100 * (share.value or 0) if score.overall.graded else None
            record[f"{title}, 95% CI"] = _bounds(share.interval)
        scores.append(record)
    for score in report.scores:
        model = _name(score, report.scores)
        for name, tally in sorted(score.categories.items()):
            value = 100 * (tally.share(score.headline).value or 0) if tally.graded else None
            categories.append(
                {"Category": name, "n": tally.instances, "Model": model, "value": value}
            )
    pairs = [
        {
            "Level": str(pair.level),
            "First": one_line(pair.first),
            "Second": one_line(pair.second),
            "Difference": 100 * pair.difference,
            "95% CI": _bounds(pair.interval),
            "p": f"{pair.p:.2g}",
            "p (Holm)": f"{pair.p_holm:.2g}",
            "n": pair.instances,
        }
        for pair in report.pairs
    ]
    frames = {"scores": pd.DataFrame(scores), "differences": pd.DataFrame(pairs)}
    if categories:
        frame = pd.DataFrame(categories)
        wide = frame.pivot_table(
            index=["Category", "n"], columns="Model", values="value", sort=False, dropna=False
        )
        frames["categories"] = wide.dropna(how="all").sort_index().reset_index()
    return {name: frame for name, frame in frames.items() if len(frame)}


def _bounds(interval: tuple[float, float]) -> str:
    return "[{:.1f}, {:.1f}]".format(*(100 * bound for bound in interval))


def _latex(frame: pd.DataFrame) -> str:
    r"""Return a `tabular` for booktabs; names are escaped, and none is read as an option of \\."""
    style = frame.style.format(escape="latex", precision=1, na_rep="--").hide(axis="index")
    text = str(style.format_index(escape="latex", axis="columns").to_latex(hrules=True))
    return re.sub(r"^(?=[\[*])", "{}", text, flags=re.M)


def _csv(frame: pd.DataFrame) -> str:
    safe = frame.map(csv_cell).rename(columns=csv_cell)
    return str(safe.to_csv(index=False, float_format="%.1f", lineterminator="\n"))
