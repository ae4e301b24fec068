"""Remember which rows `dataset check` has proved in Docker, so that nothing else is published.

A record belongs to the content of a row and its recorded outputs: whatever changes needs a new check. The number of the
benchmark's version is no content: raising it alone makes nothing unproved.
"""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from ..base.files import write_atomically
from ..base.paths import cache_folder
from ..base.version import __version__
from ..loader import row_sha256
from .rows import DatasetRow


def content_sha256(row: DatasetRow) -> str:
    """The identity of a row whatever version of the benchmark it is in, and of what its reference returned."""
    content = row_sha256({**row, "benchmark_version": ""})
    return hashlib.sha256(f"{content} {row['recording']['sha256']}".encode()).hexdigest()


def record_checked(row: DatasetRow, sandbox: str, *, proof: str = "", mutants: bool = False) -> None:
    """Note that every probe of this row came out as it should in this sandbox.

    Args:
        proof: hash of all that the check looked at, the row's variants for one.
        mutants: they were tried as well.
    """
    fact = {"instance_id": row["instance_id"], "harness": __version__, "proof": proof, "mutants": mutants}
    write_atomically(_path(row, sandbox), json.dumps(fact) + "\n")


def unchecked(rows: Sequence[DatasetRow], sandbox: str = "docker") -> list[str]:
    """Instance ids of the rows that nobody has proved in this sandbox on this machine."""
    return [row["instance_id"] for row in rows if not _path(row, sandbox).is_file()]


def was_checked(row: DatasetRow, sandbox: str, *, proof: str, mutants: bool) -> bool:
    """Whether exactly this was checked before, so that a check that was stopped need not repeat it."""
    try:
        fact = json.loads(_path(row, sandbox).read_text(encoding="utf-8"))
        return fact["proof"] == proof and (fact["mutants"] or not mutants)
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _path(row: DatasetRow, sandbox: str) -> Path:
    return cache_folder() / "checked" / sandbox / f"{content_sha256(row)}.json"
