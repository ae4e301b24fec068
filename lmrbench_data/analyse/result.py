"""The result of an analysis: tables and notes for people, records for machines, and files and figures of both."""

import io
import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..base.errors import ArgumentError
from ..base.extras import need
from ..base.files import write_atomically
from ..base.text_table import Table, csv_cell, escape, markdown_table

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

#: Forms of a saved analysis, by the ending of the name, and those of its figure.
FORMS = (".md", ".csv", ".json")
FIGURES = (".png", ".svg")
_STYLE: Any = {
    "font.size": 10,
    "legend.frameon": False,
    "text.parse_math": False,  # a model's name may contain dollars
    "svg.fonttype": "none",
    "svg.hashsalt": "lmr-bench",
    "axes.axisbelow": True,
    **dict.fromkeys(("axes.spines.top", "axes.spines.right"), False),
}


@dataclass(frozen=True)
class Analysis:
    """The result of an analysis."""

    title: str
    """Heading of its Markdown."""
    tables: Sequence[tuple[str, Table]]
    """Titles and tables of text."""
    notes: Sequence[str]
    """Explanations that a reader of the tables needs."""
    records: "pd.DataFrame"
    """One flat row for each number."""
    numbers: Mapping[str, Any]
    """All numbers, fit for JSON."""
    figure: "Callable[[Figure], None] | None" = None
    """Draws on an empty figure."""

    def to_markdown(self) -> str:
        """Tables and notes as Markdown."""
        lines = [f"# {self.title}"]
        for title, table in self.tables:
            lines += ["", f"## {title}", "", *markdown_table(*table)]
        for note in self.notes:
            lines += ["", escape(note)]
        return "\n".join(lines) + "\n"

    _repr_markdown_ = to_markdown  # for notebooks

    def save(self, path: str | Path) -> Path:
        """Write the analysis (.md, .csv, .json) or its figure (.png, .svg), as the ending of the name says.

        Raises:
            ArgumentError: another ending, or a figure of an analysis that has none.
            InputError: the extra `report`, which figures need, is not installed.
            OSError: the file cannot be written.
        """
        path = Path(path)
        check_name(path, (*FORMS, *(FIGURES if self.figure else ())))
        if path.suffix == ".md":
            content: str | bytes = self.to_markdown()
        elif path.suffix == ".json":
            content = json.dumps(self.numbers, indent=2) + "\n"
        elif path.suffix == ".csv":
            frame = self.records.map(lambda value: csv_cell(value) if isinstance(value, str) else value)
            content = frame.to_csv(index=False, lineterminator="\n")
        else:
            assert self.figure is not None
            content = _draw(self.figure, path.suffix.removeprefix("."))
        write_atomically(path, content)
        return path


def check_name(path: Path, endings: Sequence[str]) -> None:
    """Check an ending before the work begins.

    Raises:
        ArgumentError: it is not one of these.
    """
    if path.suffix not in endings:
        raise ArgumentError("out", f"{path}: give a name that ends in {', '.join(endings[:-1])} or {endings[-1]}")


def _draw(figure: "Callable[[Figure], None]", form: str) -> bytes:
    """Return a figure one page wide; equal data give equal bytes."""
    need("report", "a figure")
    import matplotlib
    from matplotlib.figure import Figure

    content = io.BytesIO()
    metadata = {"Date": None, "Creator": None} if form == "svg" else {"Software": None}
    with matplotlib.rc_context(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the font lacks letters of some names
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        page = Figure(figsize=(8, 3.3), layout="constrained")
        figure(page)
        page.savefig(content, format=form, dpi=150, metadata=metadata)
    return content.getvalue()
