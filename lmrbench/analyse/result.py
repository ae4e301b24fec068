"""The result of an analysis: tables and notes for people, records for machines, files of both."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmrbench_data.base.errors import ArgumentError
from lmrbench_data.base.files import write_atomically
from lmrbench_evaluate.reports.text_table import Table, csv_cell, escape, markdown_table

if TYPE_CHECKING:
    import pandas as pd

#: The name of all groups together.
ALL = "all"


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

    def to_markdown(self) -> str:
        """Return tables and notes as Markdown."""
        lines = [f"# {self.title}"]
        for title, table in self.tables:
            lines += ["", f"## {title}", "", *markdown_table(*table)]
        for note in self.notes:
            lines += ["", escape(note)]
        return "\n".join(lines) + "\n"

    _repr_markdown_ = to_markdown  # for notebooks

    def save(self, path: str | Path) -> Path:
        """Write the analysis as .md, .csv or .json, as the ending of the name says."""
        path = Path(path)
        check_name(path)
        if path.suffix == ".md":
            text = self.to_markdown()
        elif path.suffix == ".json":
            text = json.dumps(self.numbers, indent=2) + "\n"
        else:
            text = self.records.map(csv_cell).to_csv(index=False, lineterminator="\n")
        write_atomically(path, text)
        return path


def check_name(path: Path) -> None:
    """Check the ending of a name, also before the work begins."""
    if path.suffix not in (".md", ".csv", ".json"):
        raise ArgumentError("out", f"{path}: must end in .md, .csv or .json")


def by_group(frame: "pd.DataFrame", column: str) -> "Iterator[tuple[str, pd.DataFrame]]":
    """Yield the name and rows of each group, and of all if there are several."""
    groups = frame.groupby(column, sort=False)
    yield from groups
    if len(groups) > 1:
        yield ALL, frame
