"""Text that stays text, whatever a model is called: in Markdown, and in cells of spreadsheets."""

import re
from collections.abc import Sequence

from ...text import one_line


def escape(text: str) -> str:
    """One line of plain text. Names and messages are whatever a model says: they must not become markup."""
    return re.sub(r"([\\`*_\[\]|<>~&$])", r"\\\1", one_line(text))


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a Markdown table."""
    table = [f"| {' | '.join(map(escape, cells))} |" for cells in (header, *rows)]
    return [table[0], "|" + "---|" * len(header), *table[1:]]


def csv_cell(text: str) -> str:
    """A cell that no spreadsheet takes for a formula."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text
