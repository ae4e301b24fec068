"""The folder that an import writes. Files are written whole; files that only an earlier import made are removed."""

import contextlib
import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..base.errors import ArgumentError
from ..base.files import write_atomically

#: The record of an import; written last.
RECORD = "import.json"
_FORMAT = 1


class ImportFolder:
    """The folder of one import. Files of other origin are never touched."""

    def __init__(self, path: Path) -> None:
        """Take a folder that is new, empty, or an earlier import's.

        Raises:
            ArgumentError: something else is there.
        """
        self.path = path
        self.written: set[str] = set()
        self._earlier = _files_of(path)
        if not (path / RECORD).is_file():  # if this import is stopped, the next one knows the folder
            write_atomically(path / RECORD, json.dumps({"format": _FORMAT, "files": []}) + "\n")

    def write(self, name: str, content: bytes) -> None:
        """Write a file; an existing file with this content stays untouched."""
        path = self.path / name
        self.written.add(name)
        if not path.is_file() or path.read_bytes() != content:
            write_atomically(path, content)

    def note(self, name: str) -> None:
        """Record a file that other code wrote for this import."""
        self.written.add(name)

    def close(self, record: dict[str, Any]) -> None:
        """Write the record of what was imported, and remove the files that only an earlier import wrote."""
        record = {"format": _FORMAT, **record, "files": sorted(self.written)}
        # Recorded first, removed afterwards: an import that is stopped in between leaves no unknown files.
        write_atomically(self.path / RECORD, json.dumps(record, indent=2) + "\n")
        for name in self._earlier - self.written:
            path = self.path / name
            path.unlink(missing_ok=True)
            for folder in path.relative_to(self.path).parents:
                with contextlib.suppress(OSError):  # it holds something else, or is the root's own name
                    (self.path / folder).rmdir()


def _files_of(path: Path) -> set[str]:
    """The files of an earlier import.

    Raises:
        ArgumentError: the folder holds something else.
    """
    if not path.exists():
        return set()
    if path.is_dir() and not any(path.iterdir()):
        return set()
    try:
        record = json.loads((path / RECORD).read_text(encoding="utf-8"))
        names = {str(name) for name in record["files"]}
    except (OSError, ValueError, LookupError, TypeError):
        problem = f"{path}: not empty, and not an earlier import (no {RECORD}); give a new folder"
        raise ArgumentError("out", problem) from None
    # The record may have been edited: nothing outside the folder is removed because of it.
    return {name for name in names if not Path(name).is_absolute() and ".." not in Path(name).parts}


def csv_bytes(rows: Sequence[Mapping[str, object]]) -> bytes:
    """A table of rows with the same columns."""
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode("utf-8")
