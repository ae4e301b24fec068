"""Recognise a file that holds no predictions, and say which columns it has and which a prediction needs."""

from collections.abc import Collection, Iterable
from pathlib import Path

from .prediction import FORMS, NO_FORM, Prediction
from .sources import BadRow, Source, source_name

#: What every row needs.
NEEDED = f"instance_id, model_name_or_path and one of {', '.join(FORMS)}"
RENAME = "rename columns with the option `map`, such as completion=function"
#: Largest number of columns in a message.
MAX_COLUMNS = 12


class Columns:
    """The columns of a source, and whether any of its rows is a prediction, noted while the rows pass."""

    def __init__(self) -> None:
        self.names: dict[str, None] = {}
        self._is_foreign = True
        self._first = ""

    def note(self, raw: object, item: Prediction | BadRow) -> None:
        """Note the columns of a row, and whether it could be a prediction: readable, with the columns of one."""
        if isinstance(raw, dict) and len(self.names) <= MAX_COLUMNS:
            self.names |= dict.fromkeys(name for name in raw if isinstance(name, str))
        if isinstance(item, Prediction):
            self._is_foreign &= item.problem.endswith(NO_FORM)
            return
        self._first = self._first or str(item)
        self._is_foreign &= any(word in item.reason for word in ("missing key", "not JSON", "not UTF-8", "JSON object"))

    def problem(self, source: Source) -> str:
        """Return what is wrong with the source as a whole; empty if it holds predictions or nothing at all."""
        if not self._is_foreign:
            return ""
        where = f"predictions {source_name(source)!r}"
        if self.names:
            return f"{where}: has the columns {_named(self.names)}; a prediction needs {NEEDED}; {RENAME}"
        if not self._first:
            return f"{where}: no rows; a row needs {NEEDED}"
        if header := _csv_header(source):
            return f"{where}: is CSV with the columns {_named(header)}; save it as JSON lines with {NEEDED}"
        return f"{where}: holds no row of JSON ({self._first}); a row needs {NEEDED}"


def first_columns(path: Path) -> Collection[str]:
    """Return the columns of the first row of a file of predictions; empty if it is not one."""
    from lmrbench_data.base.errors import InputError

    from .sources import raw_rows

    try:
        row = next((row for _, row in raw_rows(path)), None)
    except (InputError, OSError):
        return ()
    return tuple(row) if isinstance(row, dict) else ()


def _named(names: Iterable[str]) -> str:
    names = list(names)
    return ", ".join(names[:MAX_COLUMNS]) + (", ..." if len(names) > MAX_COLUMNS else "")


def _csv_header(source: Source) -> list[str]:
    """Return the columns of a file that looks like CSV."""
    if not isinstance(source, str | Path) or not Path(source).is_file():
        return []
    with Path(source).open("rb") as file:
        line = file.readline(10_000).decode("utf-8", "replace").strip()
    names = [name.strip().strip('"') for name in line.split(",")]
    return names if len(names) > 1 and all(name and name.isprintable() for name in names) and "{" not in line else []
