"""Records of passed checks on this machine: only rows that `dataset check` proved in Docker are published.

A record belongs to the content of a row and its recorded outputs; a change of either needs a new check. The benchmark's
version and the text of a published paper are not part of the content.
"""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from ..base.files import write_atomically
from ..base.paths import cache_folder
from ..base.version import __version__
from ..loader import row_sha256
from .rows import DatasetRow, is_altered


def content_sha256(row: DatasetRow) -> str:
    """Hash a row and its recorded outputs, without the benchmark's version and a published paper's text.

    No trial depends on these; checks of altered papers depend on their texts.
    """
    paper = row["paper_text"] if is_altered(row) else ""
    content = row_sha256({**row, "benchmark_version": "", "paper_text": paper})
    return hashlib.sha256(f"{content} {row['recording']['sha256']}".encode()).hexdigest()


def record_checked(row: DatasetRow, sandbox: str, *, proof: str = "", mutants: bool = False) -> None:
    """Record that a row passed every trial in this sandbox.

    Args:
        proof: hash of everything that the check read, such as the row's variants.
        mutants: whether mutants were tried.
    """
    fact = {"instance_id": row["instance_id"], "harness": __version__, "proof": proof, "mutants": mutants}
    write_atomically(_path(row, sandbox), json.dumps(fact) + "\n")


def unchecked(rows: Sequence[DatasetRow], sandbox: str = "docker") -> list[str]:
    """Return the instance ids of the rows without a passed check in this sandbox on this machine."""
    return [row["instance_id"] for row in rows if not _path(row, sandbox).is_file()]


def was_checked(row: DatasetRow, sandbox: str, *, proof: str, mutants: bool) -> bool:
    """Whether a row passed the same check before, so that a resumed check can skip it."""
    try:
        fact = json.loads(_path(row, sandbox).read_text(encoding="utf-8"))
        return fact["proof"] == proof and (fact["mutants"] or not mutants)
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _path(row: DatasetRow, sandbox: str) -> Path:
    return cache_folder() / "checked" / sandbox / f"{content_sha256(row)}.json"
