"""What sampling and agents share: the file that rows are appended to, whose they are, and what it came to."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from filelock import FileLock, Timeout

from ..errors import ArgumentError
from ..evaluate.predictions import UNSTATED, PredictionKey
from ..evaluate.runs.jsonl import cut_tail, parse_row, read_log
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
    _file: IO[bytes] | None = None

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
            opened, end = cls(_file=file), 0
            for line in read_log(path, _parse, "remove that line, or give another file"):
                opened._count(line.row)
                end = line.end
            cut_tail(path, end)
            yield opened

    def append(self, row: Mapping[str, Any]) -> None:
        """Write one row; it is on its way to the disk when this returns."""
        assert self._file is not None
        self._file.write(json.dumps(row).encode("ascii") + b"\n")
        self._file.flush()
        self._count(row)

    def _count(self, row: Mapping[str, Any]) -> None:
        names = row["instance_id"], row["model_name_or_path"], row.get("setting") or "", row.get("track") or UNSTATED
        self.keys.add((*names, row.get("sample") or 0))
        cost = (row.get("metadata") or {}).get("cost_usd")
        self.cost_usd += cost if isinstance(cost, int | float) else 0.0


def _parse(line: bytes) -> dict[str, Any] | None:
    return parse_row(line, _ROW)
