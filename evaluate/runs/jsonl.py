"""Read the files of JSON rows that a run appends to: a kill may cut the last row short, a hand may damage any."""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

from filelock import FileLock, Timeout

from ...errors import InputError


class Line(NamedTuple):
    """One row of a file, and the bytes at which it starts and ends."""

    start: int
    end: int
    row: dict[str, Any]


def read_log(path: Path, parse: Callable[[bytes], dict[str, Any] | None], fix: str) -> Iterator[Line]:
    """The rows of a file in order; none if it is missing. A last row that was cut short is left out.

    Args:
        parse: a line's row, or None if it is malformed.
        fix: what the user can do about a damaged file.

    Raises:
        InputError: a row before the last is malformed.
    """
    if not path.exists():
        return
    with path.open("rb") as file:
        start = 0
        for number, line in enumerate(file, start=1):
            row = parse(line) if line.endswith(b"\n") else None
            if row is None:
                if line.endswith(b"\n"):
                    raise InputError(f"{path}:{number}: damaged; {fix}")
                return
            yield Line(start, start + len(line), row)
            start += len(line)


def cut_tail(path: Path, end: int) -> None:
    """Remove what stands after the last whole row, which ends at byte `end`."""
    if path.exists() and path.stat().st_size > end:
        os.truncate(path, end)


@contextmanager
def locked(lock: Path, busy: str) -> Iterator[None]:
    """Hold a lock; `busy` says what is the matter if another process has it.

    Raises:
        InputError: another process has it.
    """
    held = FileLock(lock)
    try:
        held.acquire(blocking=False)
    except Timeout:
        raise InputError(busy) from None
    try:
        yield
    finally:
        held.release()


def resume_log(
    file: IO[bytes], path: Path, lines: Iterable[Line], count: Callable[[dict[str, Any]], None]
) -> Callable[[dict[str, Any]], None]:
    """Count the rows that are there and remove one that was cut short; what appends a row and counts it, too.

    A row is on its way to the disk when that returns.

    Args:
        file: the log, open for appending.
        lines: its rows, from `read_log`.
        count: told of each row.
    """
    end = 0
    for line in lines:
        count(line.row)
        end = line.end
    cut_tail(path, end)

    def append(row: dict[str, Any]) -> None:
        file.write(json.dumps(row).encode("ascii") + b"\n")
        file.flush()
        count(row)

    return append


def parse_row(line: bytes, keys: Mapping[str, Any]) -> dict[str, Any] | None:
    """A line's JSON object that has the keys, with these types; None for anything else."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return row if wrong_key(row, keys) is None else None


def wrong_key(value: Any, keys: Mapping[str, Any]) -> str | None:
    """The first of the keys that `value` lacks or has with another type."""
    if not isinstance(value, dict):
        return "no JSON object"
    return next((name for name, kind in keys.items() if not isinstance(value.get(name), kind)), None)
