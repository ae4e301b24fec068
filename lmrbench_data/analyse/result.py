"""What every analysis gives: tables and notes for people, rows and a dictionary for machines, files of each."""

import csv
import io
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ArgumentError
from ..evaluate.reports.plain import csv_cell, escape, markdown_table
from ..evaluate.reports.tables import Table
from ..files import write_atomically

if TYPE_CHECKING:
    import pandas as pd

#: What an analysis is saved as, told by the end of the name.
FORMS = (".md", ".csv", ".json")
FIGURES = (".png", ".svg")


class Analysis(ABC):
    """The result of an analysis."""

    #: How its Markdown is headed.
    title: str

    @abstractmethod
    def tables(self) -> list[tuple[str, Table]]:
        """Titles and tables of text."""

    @abstractmethod
    def notes(self) -> list[str]:
        """What a reader has to know to read the tables."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """All numbers, fit for JSON."""

    @abstractmethod
    def records(self) -> list[dict[str, Any]]:
        """One flat row for each number; all rows have the same keys."""

    def draw(self, path: Path) -> None:
        """The figure of the analysis, .png or .svg.

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

    def to_csv(self) -> str:
        """The records, for a spreadsheet."""
        rows = self.records()
        out = io.StringIO()
        writer = csv.DictWriter(out, list(rows[0]) if rows else [], lineterminator="\n")
        writer.writeheader()
        writer.writerows(_safe(row) for row in rows)
        return out.getvalue()

    def save(self, path: str | Path) -> Path:
        """Write it as what the name ends in: .md, .csv or .json.

        Raises:
            ArgumentError: it ends in something else.
        """
        path = Path(path)
        check_name("out", path, FORMS)
        forms = {".md": self.to_markdown, ".csv": self.to_csv, ".json": self._to_json}
        write_atomically(path, forms[path.suffix]())
        return path

    def _to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=2) + "\n"

    def _repr_markdown_(self) -> str:
        """How a notebook shows it."""
        return self.to_markdown()


def check_name(argument: str, path: Path, endings: Sequence[str]) -> None:
    """See before the work whether something can be written under this name.

    Raises:
        ArgumentError: its ending says nothing.
    """
    if path.suffix not in endings:
        raise ArgumentError(argument, f"{path}: give a name that ends in {', '.join(endings[:-1])} or {endings[-1]}")


def _safe(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: csv_cell(value) if isinstance(value, str) else value for name, value in row.items()}


def percent(share: float | None) -> str:
    """A share for people; a dash where there is none."""
    return "-" if share is None else f"{100 * share:.1f} %"


def bounds(interval: tuple[float, float] | None) -> str:
    """An interval of shares, in percent."""
    return "-" if interval is None else f"{100 * interval[0]:.0f} - {100 * interval[1]:.0f}"
