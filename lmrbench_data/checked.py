"""Remember which rows `dataset check` has proved in Docker, so that nothing else is published.

A record belongs to the content of a row and its recorded outputs: whatever changes needs a new check.
"""

import json
from collections.abc import Sequence
from pathlib import Path

from .files import write_atomically
from .paths import cache_folder
from .rows import DatasetRow
from .version import __version__


def record_checked(row: DatasetRow, sandbox: str) -> None:
    """Note that every probe of this row came out as it should in this sandbox."""
    fact = {"instance_id": row["instance_id"], "harness": __version__}
    write_atomically(_path(row, sandbox), json.dumps(fact) + "\n")


def unchecked(rows: Sequence[DatasetRow], sandbox: str = "docker") -> list[str]:
    """Instance ids of the rows that nobody has proved in this sandbox on this machine."""
    return [row["instance_id"] for row in rows if not _path(row, sandbox).is_file()]


def _path(row: DatasetRow, sandbox: str) -> Path:
    return cache_folder() / "checked" / sandbox / f"{row['row_sha256']}-{row['recording']['sha256'][:16]}.json"
