"""What sampling and agents share: the file that rows are appended to, whose they are, and what it came to."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from ..errors import ArgumentError
from ..evaluate.predictions import UNSTATED, PredictionKey
from ..evaluate.runs.jsonl import parse_row, read_log, resume_log
from ..names import clean_name
from ..rows import DatasetRow

_ROW: dict[str, Any] = {"instance_id": str, "model_name_or_path": str}


@dataclass
class AnswerSummary:
    """What asking for answers came to."""

    kept: int = 0
    """Rows that were there already."""
    errors: int = 0
    first_error: str = ""
    stopped: str = ""
    """Why it ended early, if it did."""
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    """Of all rows of the file; None if the price is not known."""

    @property
    def complete(self) -> bool:
        """Whether every row is there."""
        return not self.stopped and not self.errors


def chosen_rows(rows: Sequence[DatasetRow], instances: Sequence[str]) -> list[DatasetRow]:
    """The rows of these instances, of all if there are none.

    Raises:
        ArgumentError: an instance is unknown.
    """
    known = {row["instance_id"]: row for row in rows}
    if unknown := [name for name in instances if name not in known]:
        raise ArgumentError("instances", f"{unknown[0]!r} is unknown; see `lmrbench tasks list`")
    return [known[name] for name in (instances or sorted(known))]


def model_name(name: str, model: str) -> str:
    """What a model is called in the rows: the name that the user gives it, else the one that its server knows.

    Raises:
        ArgumentError: it cannot be a name.
    """
    try:
        return clean_name(name or model)
    except ValueError as error:
        raise ArgumentError("name", f"{name or model!r} {error}") from None


@dataclass
class AnswerFile:
    """An open file of predictions; use `AnswerFile.open` as a context manager."""

    keys: set[PredictionKey] = field(default_factory=set)
    """Rows that are there."""
    cost_usd: float = 0.0
    """Of all rows that say what they cost."""
    _append: Callable[[dict[str, Any]], None] | None = None

    @classmethod
    @contextmanager
    def open(cls, path: Path) -> Iterator["AnswerFile"]:
        """Create or resume a file; a last row that was cut short is removed.

        Raises:
            ArgumentError: it cannot be written, or another process writes to it.
            InputError: it is damaged.
        """
        lock = FileLock(path.with_name(f".{path.name}.lock"))
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            lock.acquire(blocking=False)
            file = path.open("ab")
        except Timeout:
            raise ArgumentError("out", f"{path}: another process is writing to it; wait for it") from None
        except OSError as error:
            raise ArgumentError("out", f"{path}: cannot be written ({error.strerror}); give another place") from error
        with lock, file:
            opened, lines = cls(), read_log(path, _parse, "remove that line, or give another file")
            opened._append = resume_log(file, path, lines, opened._count)
            yield opened

    def append(self, row: dict[str, Any]) -> None:
        """Write one row; it is on its way to the disk when this returns."""
        assert self._append is not None
        self._append(row)

    def _count(self, row: Mapping[str, Any]) -> None:
        names = row["instance_id"], row["model_name_or_path"], row.get("setting") or "", row.get("track") or UNSTATED
        self.keys.add((*names, row.get("sample") or 0))
        cost = (row.get("metadata") or {}).get("cost_usd")
        self.cost_usd += cost if isinstance(cost, int | float) else 0.0


def _parse(line: bytes) -> dict[str, Any] | None:
    return parse_row(line, _ROW)
