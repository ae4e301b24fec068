"""Tables of untrusted text as Markdown or CSV, escaped so that names and messages stay text."""

import re
from collections.abc import Sequence
from typing import Any

from lmrbench_data.base.names import FORMULA
from lmrbench_data.base.text import one_line

#: The header and the rows.
Table = tuple[list[str], list[list[str]]]


def escape(text: str) -> str:
    """Return one line of Markdown that shows `text` literally."""
    return re.sub(r"([\\`*_\[\]|<>~&$])", r"\\\1", one_line(text))


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a Markdown table."""
    table = [f"| {' | '.join(map(escape, cells))} |" for cells in (header, *rows)]
    return [table[0], "|" + "---|" * len(header), *table[1:]]


def csv_cell(value: Any) -> Any:
    """Return a cell for CSV: one line that spreadsheets and terminals read as text alone."""
    if not isinstance(value, str):
        return value
    text = one_line(value)
    return f"'{text}" if text.startswith(FORMULA) else text
