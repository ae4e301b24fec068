"""The result of an analysis: tables and notes for people, records for machines, and files and figures of both."""

import io
import json
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..base.errors import ArgumentError, InputError
from ..base.extras import need
from ..base.files import write_atomically
from ..base.text_table import Table, csv_cell, escape, markdown_table

if TYPE_CHECKING:
    import pandas as pd

#: Forms of a saved analysis and of its figure, by the ending of the name.
FORMS = (".md", ".csv", ".json")
FIGURES = (".png", ".svg")
#: Colours that stay different with most kinds of colour vision, and in grey (Okabe and Ito).
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#6e7781")
_STYLE: Any = {
    "font.size": 10,
    "legend.frameon": False,
    "text.parse_math": False,  # a model's name may contain dollars
    "svg.fonttype": "none",
    "svg.hashsalt": "lmr-bench",
    "axes.axisbelow": True,
    **dict.fromkeys(("axes.spines.top", "axes.spines.right"), False),
}
#: Characters of a name in a figure.
_NAME = 40


class Analysis(ABC):
    """The result of an analysis."""

    #: Heading of its Markdown.
    title: str

    @abstractmethod
    def tables(self) -> list[tuple[str, Table]]:
        """Titles and tables of text."""

    @abstractmethod
    def notes(self) -> list[str]:
        """Explanations that a reader of the tables needs."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """All numbers, fit for JSON."""

    @abstractmethod
    def records(self) -> list[dict[str, Any]]:
        """One flat row for each number; all rows have the same keys."""

    def draw(self, path: Path) -> None:
        """Draw the figure of the analysis, .png or .svg.

        Raises:
            ArgumentError: it has none.
            InputError: the extra `report` is not installed, or the file cannot be written.
        """
        raise ArgumentError("figure", f"{self.title}: has no figure")

    def to_pandas(self) -> "pd.DataFrame":
        """The records as a DataFrame."""
        import pandas as pd

        return pd.DataFrame.from_records(self.records())

    def to_markdown(self) -> str:
        """Tables and notes as Markdown."""
        lines = [f"# {self.title}"]
        for title, table in self.tables():
            lines += ["", f"## {title}", "", *markdown_table(*table)]
        for note in self.notes():
            lines += ["", escape(note)]
        return "\n".join(lines) + "\n"

    _repr_markdown_ = to_markdown  # for notebooks

    def to_csv(self) -> str:
        """The records, for a spreadsheet."""
        frame = self.to_pandas().map(lambda value: csv_cell(value) if isinstance(value, str) else value)
        return str(frame.to_csv(index=False, lineterminator="\n"))

    def save(self, path: str | Path) -> Path:
        """Write the analysis; the ending of the name selects .md, .csv or .json.

        Raises:
            ArgumentError: another ending.
        """
        path = Path(path)
        check_name("out", path, FORMS)
        if path.suffix == ".json":
            text = json.dumps(self.to_dict(), indent=2) + "\n"
        else:
            text = self.to_markdown() if path.suffix == ".md" else self.to_csv()
        write_atomically(path, text)
        return path


def check_name(argument: str, path: Path, endings: Sequence[str]) -> None:
    """Check an ending before the work begins."""
    if path.suffix not in endings:
        raise ArgumentError(argument, f"{path}: give a name that ends in {', '.join(endings[:-1])} or {endings[-1]}")


@contextmanager
def figure_file(path: Path, height: float) -> Iterator[Any]:
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


def label_text(name: str) -> str:
    """Return a name that fits; matplotlib hides a label that starts with an underscore."""
    return " " * name.startswith("_") + (name if len(name) <= _NAME else f"{name[: _NAME - 1]}…")
