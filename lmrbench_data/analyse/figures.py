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
from .action_share import ActionShare

_INK, _GRID = "#24292f", "#d0d7de"
#: Told apart by most kinds of colour vision, and in grey (Okabe and Ito).
_COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#6e7781")
#: Characters of a name that are shown.
_NAME = 40
#: Odds ratios beyond these are not shown in full.
_WIDEST = 1e-3, 1e3


def draw_shares(
    panels: Mapping[str, Mapping[str, Mapping[str, ActionShare]]], kinds: Sequence[str], path: Path
) -> None:
    """Bars of shares, one panel below the other, groups side by side, whiskers for intervals.

    Args:
        panels: title → group → kind → share.
    """
    with _figure(path, 8, 3.3 * len(panels)) as figure:
        every = figure.subplots(len(panels), squeeze=False)[:, 0]
        used = 0  # each panel has colours of its own: they mean something else
        for axes, (title, groups) in zip(every, panels.items(), strict=True):
            width = 0.8 / len(groups)
            for place, (name, shares) in enumerate(groups.items()):
                for number, kind in enumerate(kinds):
                    item = shares[kind]
                    at, height = number + (place - (len(groups) - 1) / 2) * width, 100 * item.share
                    label = f"{_plain(name)} ({counted(item.sessions, 'session')})" if not number else None
                    axes.bar(at, height, 0.92 * width, color=_COLOURS[(used + place) % len(_COLOURS)], label=label)
                    if item.interval:
                        low, high = (100 * bound for bound in item.interval)
                        axes.plot([at, at], [low, high], color=_INK, linewidth=1.2)
            used += len(groups)
            axes.set_xticks(range(len(kinds)), kinds)
            axes.set_ylabel("% of actions", color=_INK)
            axes.set_title(title, color=_INK, loc="left", fontsize=11)
            axes.set_ylim(bottom=0)
            axes.yaxis.grid(color=_GRID)
            axes.set_axisbelow(True)
            axes.legend(frameon=False, labelcolor=_INK, fontsize=9)


def draw_odds(terms: Sequence[tuple[str, float, float, float]], label: str, path: Path) -> None:
    """Odds ratios and their intervals on a logarithmic axis, one line a term.

    Args:
        terms: name, odds ratio, lower and upper bound.
        label: of the axis.
    """
    with _figure(path, 8, 1.2 + 0.42 * len(terms)) as figure:
        from matplotlib.ticker import LogLocator, NullLocator

        axes = figure.subplots()
        for place, (_, ratio, low, high) in enumerate(reversed(terms)):
            axes.plot([low, high], [place, place], color=_COLOURS[0], linewidth=2)
            axes.plot(ratio, place, "o", color=_COLOURS[0], markersize=7)
            axes.annotate(f"{ratio:.2f}", (ratio, place), (0, 7), textcoords="offset points", ha="center", color=_INK,
                          fontsize=9)  # fmt: skip
        axes.axvline(1, color=_INK, linewidth=1, linestyle="--")
        axes.set_xscale("log")
        axes.set_yticks(range(len(terms)), [_plain(name) for name, *_ in reversed(terms)])
        axes.set_ylim(-0.6, len(terms) - 0.3)
        axes.set_xlabel(label, color=_INK)
        axes.set_xlim(max(axes.get_xlim()[0], _WIDEST[0]), min(axes.get_xlim()[1], _WIDEST[1]))
        wide = axes.get_xlim()[1] > 100 * axes.get_xlim()[0]
        axes.xaxis.set_major_locator(LogLocator(subs=(1,) if wide else (1, 2, 5)))
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.grid(color=_GRID)
        axes.set_axisbelow(True)


def _plain(name: str) -> str:
    """A name that fits, and is neither mathematics nor hidden, whatever a model is called."""
    short = name if len(name) <= _NAME else f"{name[: _NAME - 1]}\N{HORIZONTAL ELLIPSIS}"
    return (" " if short.startswith("_") else "") + short.replace("$", r"\$")


@contextmanager
def _figure(path: Path, width: float, height: float) -> Iterator[Any]:
    """A figure that is written to `path` at the end; equal data give equal files."""
    need("report", "a figure")
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "lmr-bench", "font.size": 10}):
        figure = Figure(figsize=(width, height), facecolor="white", layout="constrained")
        FigureCanvasAgg(figure)
        yield figure
        for axes in figure.axes:
            axes.set_facecolor("white")
            axes.tick_params(colors=_INK, length=0)
            for side in axes.spines.values():
                side.set_visible(False)
        form = path.suffix.removeprefix(".")
        metadata = {"Date": None, "Creator": None} if form == "svg" else {"Software": None}
        content = io.BytesIO()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of letters that the font lacks
            figure.savefig(content, format=form, dpi=150, metadata=metadata)
    try:
        write_atomically(path, content.getvalue())
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror})") from error
