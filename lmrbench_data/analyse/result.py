"""The result of an analysis: tables and notes for people, records for machines, and files of both."""

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..base.errors import ArgumentError
from ..base.files import write_atomically
from ..base.text_table import Table, csv_cell, escape, markdown_table

if TYPE_CHECKING:
    import pandas as pd

#: Forms of a saved analysis and of its figure, by the ending of the name.
FORMS = (".md", ".csv", ".json")
FIGURES = (".png", ".svg")


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
    """Check an ending before the work begins.

    Raises:
        ArgumentError: another ending.
    """
    if path.suffix not in endings:
        raise ArgumentError(argument, f"{path}: give a name that ends in {', '.join(endings[:-1])} or {endings[-1]}")
