"""The sheet of a paper's figure: one column wide, text of 8 points, and the same bytes for the same numbers."""

import io
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from .names import short_names

#: Width of a column in the field's styles, inches.
WIDTH = 3.3
INK, GREY, GRID = "#1f2328", "#6e7781", "#d0d7de"
#: Told apart with any colour vision, and at least 3:1 on white (Okabe and Ito).
BLUE, ORANGE = "#0072b2", "#d55e00"
#: Characters of a name in a legend.
_LEGEND = 42
_COLOURS = (BLUE, ORANGE, "#007a5a", "#a3487f", INK)
_MARKERS = "osD^vPX<>*hp"
_LINES = ("-", "--", ":")
_STYLE: Any = {
    "font.family": ["sans-serif"],  # the generic name is what an SVG falls back to
    "font.sans-serif": ["DejaVu Sans"],  # matplotlib brings it: the same on every machine
    "font.size": 8,
    "axes.labelsize": "medium",
    "xtick.labelsize": "medium",
    "ytick.labelsize": "medium",
    "legend.fontsize": "medium",
    "legend.frameon": False,
    "axes.linewidth": 0.6,
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "text.color": INK,
    "text.parse_math": False,  # a model's name may contain dollars
    "xtick.color": GREY,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.color": GREY,
    "ytick.major.size": 2.5,
    "ytick.major.width": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": GRID,
    "grid.linewidth": 0.5,
    "hatch.linewidth": 0.6,
    "axes.axisbelow": True,
    "pdf.fonttype": 42,  # TrueType: conferences refuse Type 3
    "svg.fonttype": "none",
    "svg.hashsalt": "lmr-bench",
}
#: Form → metadata without times and versions.
_METADATA: dict[str, dict[str, None]] = {
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}


@contextmanager
def style() -> Iterator[None]:
    """Draw with our settings alone, whatever the user's matplotlibrc says."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        yield


def new_figure(height: float) -> tuple[Figure, Axes]:
    """Return a figure of one column with one plot.

    Args:
        height: inches.
    """
    figure = Figure(figsize=(WIDTH, height), facecolor="white", layout=ConstrainedLayoutEngine(w_pad=0.02, h_pad=0.02))
    FigureCanvasAgg(figure)
    return figure, figure.subplots()


def model_styles(names: Sequence[str], shown: Sequence[str]) -> list[dict[str, Any]]:
    """Return colour, marker and line of the shown models, which are the same in each figure.

    Args:
        names: all models, best first.
    """
    return [_model_style(names.index(name)) for name in shown]


def _model_style(number: int) -> dict[str, Any]:
    again, of = divmod(number, len(_COLOURS))
    colour = _COLOURS[of]
    return {
        "color": colour,
        "marker": _MARKERS[number % len(_MARKERS)],
        "linestyle": _LINES[again % len(_LINES)],
        "markersize": 4.5,
        "linewidth": 1.1,
        "markerfacecolor": "white" if again % 2 else colour,
    }


def legend_height(names: Sequence[str]) -> float:
    """Return the height of `legend_below`, inches."""
    return 0.155 * -(-len(names) // _legend_columns(names)) + 0.05


def legend_below(figure: Figure, handles: Sequence[Artist], names: Sequence[str]) -> None:
    """Name lines, markers and areas below the plot."""
    # A label that starts with an underscore would be hidden.
    labels = [f" {name}" if name.startswith("_") else name for name in short_names(names, _LEGEND)]
    figure.legend(
        handles,
        labels,
        loc="outside lower center",
        ncols=_legend_columns(names),
        handlelength=2.0,
        labelspacing=0.25,
        columnspacing=1.0,
        borderpad=0.1,
    )


def _legend_columns(names: Sequence[str]) -> int:
    widest = 0.4 + 0.065 * max(map(len, short_names(names, _LEGEND)))  # inches, handle included
    return max(1, min(3, len(names), int(WIDTH / widest)))


def rendered(figure: Figure) -> dict[str, bytes]:
    """Return form → bytes of a figure."""
    content = {form: io.BytesIO() for form in _METADATA}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of letters that the font lacks
        figure.draw_without_rendering()  # lays it out once for both forms
        figure.set_layout_engine("none")
        for form, metadata in _METADATA.items():
            figure.savefig(content[form], format=form, metadata=metadata)
    return {form: file.getvalue() for form, file in content.items()}
