"""Compare two builds of the dataset: rows added, removed and changed, column by column."""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..loader import read_archive

#: Columns derived from others, which are not compared.
_DERIVED = {"row_sha256", "repo_sha256", "recording"}
_CONTEXT = 2


@dataclass(frozen=True)
class Change:
    """A difference between two datasets."""

    instance_id: str
    column: str
    """Empty for an added or removed row."""
    summary: str
    detail: str = ""
    """A unified diff of text."""


def diff_rows(old: Sequence[Mapping[str, Any]], new: Sequence[Mapping[str, Any]]) -> Iterator[Change]:
    """Yield the changes from `old` to `new` by instance id and column."""
    before, after = ({str(row["instance_id"]): row for row in rows} for rows in (old, new))
    for instance_id in sorted(before.keys() | after.keys()):
        if instance_id not in after:
            yield Change(instance_id, "", "removed")
        elif instance_id not in before:
            yield Change(instance_id, "", "added")
        else:
            yield from _row_changes(instance_id, before[instance_id], after[instance_id])


def _row_changes(instance_id: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Change]:
    for column in [*old, *(name for name in new if name not in old)]:
        left, right = old.get(column), new.get(column)
        if left == right or column in _DERIVED:
            continue
        if column in ("repo_archive", "tests_archive") and isinstance(left, bytes) and isinstance(right, bytes):
            yield from _archive_changes(instance_id, column, left, right)
        elif isinstance(left, bytes) or isinstance(right, bytes):
            yield Change(instance_id, column, f"bytes differ ({len(left or b'')} and {len(right or b'')})")
        elif isinstance(left, str) and isinstance(right, str) and "\n" in left + right:
            yield Change(instance_id, column, "text changed", _unified(left, right, column))
        else:
            yield Change(instance_id, column, f"{left!r} -> {right!r}")


def _archive_changes(instance_id: str, column: str, old: bytes, new: bytes) -> Iterator[Change]:
    left, right = read_archive(old), read_archive(new)
    if left == right:
        yield Change(instance_id, column, "packed differently; the files are the same")
    for name in sorted(left.keys() | right.keys()):
        where = f"{column}/{name}"
        if name not in right:
            yield Change(instance_id, where, "file removed")
        elif name not in left:
            yield Change(instance_id, where, "file added")
        elif left[name].data != right[name].data:
            before, after = (files[name].data.decode("utf-8", "replace") for files in (left, right))
            yield Change(instance_id, where, "file changed", _unified(before, after, name))
        elif left[name].executable != right[name].executable:
            yield Change(instance_id, where, f"made {'' if right[name].executable else 'not '}executable")


def _unified(old: str, new: str, name: str) -> str:
    lines = difflib.unified_diff(
        old.splitlines(), new.splitlines(), f"old/{name}", f"new/{name}", n=_CONTEXT, lineterm=""
    )
    return "\n".join(lines)
