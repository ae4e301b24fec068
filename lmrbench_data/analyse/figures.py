"""The figures of analyses: dark text on white, readable at the width of a page, nothing shown by colour alone."""

import io
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..base.errors import InputError
from ..base.extras import need
from ..base.files import write_atomically
from ..base.text import counted
from .trajectories import KINDS

#: Colours that stay different with most kinds of colour vision, and in grey (Okabe and Ito).
_COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#6e7781")
_STYLE: Any = {
    "font.size": 10,
    "legend.frameon": False,
    "text.parse_math": False,  # a model's name may contain dollars
    "svg.fonttype": "none",
    "svg.hashsalt": "lmr-bench",
    "axes.axisbelow": True,
    **dict.fromkeys(("axes.spines.top", "axes.spines.right"), False),
}
#: Characters of a name that are shown.
_NAME = 40


def draw_shares(panels: Mapping[str, Mapping[str, Mapping[str, Mapping[str, Any]]]], path: Path) -> None:
    """Draw bars of shares, one panel below the other, groups side by side, whiskers for intervals.

    Args:
        panels: title → group → kind → row of `Actions.shares`.
    """
    with _figure(path, 3.3 * len(panels)) as figure:
        colours = iter(_COLOURS * len(panels) * 8)  # each panel has colours of its own: they mean something else
        for axes, (title, groups) in zip(
            figure.subplots(len(panels), squeeze=False)[:, 0], panels.items(), strict=True
        ):
            width = 0.8 / len(groups)
            for number, (name, rows) in enumerate(groups.items()):
                places = [place + (number - (len(groups) - 1) / 2) * width for place in range(len(KINDS))]
                heights = [100 * row["share"] for row in rows.values()]
                label = f"{_plain(name)} ({counted(rows[KINDS[0]]['sessions'], 'session')})"
                axes.bar(places, heights, 0.92 * width, color=next(colours), label=label)
                for place, row in zip(places, rows.values(), strict=True):
                    if row["low"] is not None:
                        axes.plot([place, place], [100 * row["low"], 100 * row["high"]], color="black", linewidth=1.2)
            axes.set_xticks(range(len(KINDS)), KINDS)
            axes.set(ylabel="% of actions", ylim=(0, None))
            axes.set_title(title, loc="left")
            axes.yaxis.grid(color="#d0d7de")
            axes.legend(fontsize=9)


def draw_odds(terms: Sequence[tuple[str, float, float, float]], label: str, path: Path) -> None:
    """Draw odds ratios and their intervals on a logarithmic axis, one line a term.

    Args:
        terms: name, odds ratio, lower and upper bound.
        label: of the axis.
    """
    names, ratios, low, high = zip(*terms, strict=True)
    places = range(len(terms))
    with _figure(path, 1.2 + 0.42 * len(terms)) as figure:
        from matplotlib.ticker import LogLocator

        axes = figure.subplots()
        axes.hlines(places, low, high, color=_COLOURS[0], linewidth=2)
        axes.plot(ratios, places, "o", color=_COLOURS[0], markersize=7)
        for place, ratio in zip(places, ratios, strict=True):
            axes.annotate(f"{ratio:.2f}", (ratio, place), (0, 7), textcoords="offset points", ha="center", fontsize=9)
        axes.axvline(1, color="black", linewidth=1, linestyle="--")
        axes.set(xscale="log", xlabel=label, ylim=(len(terms) - 0.5, -0.7))
        axes.set_xlim(max(axes.get_xlim()[0], 1e-3), min(axes.get_xlim()[1], 1e3))
        axes.set_yticks(places, list(map(_plain, names)))
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if max(high) < 100 * min(low) else (1,)))
        axes.xaxis.set_major_formatter("{x:g}")
        axes.minorticks_off()
        axes.xaxis.grid(color="#d0d7de")


def _plain(name: str) -> str:
    """Return a name that fits; matplotlib hides a label that starts with an underscore."""
    return " " * name.startswith("_") + (name if len(name) <= _NAME else f"{name[: _NAME - 1]}…")


@contextmanager
def _figure(path: Path, height: float) -> Iterator[Any]:
    """Write a figure to `path` at the end; equal data give equal files."""
    need("report", "a figure")
    import matplotlib
    from matplotlib.figure import Figure

    content = io.BytesIO()
    metadata = {"Date": None, "Creator": None} if path.suffix == ".svg" else {"Software": None}
    with matplotlib.rc_context(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the font lacks letters of some names
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        figure = Figure(figsize=(8, height), layout="constrained")
        yield figure
        figure.savefig(content, format=path.suffix.removeprefix("."), dpi=150, metadata=metadata)
    try:
        write_atomically(path, content.getvalue())
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror})") from error
