"""Read the files of JSON rows that a run appends to: a kill may cut the last row short, a hand may damage any."""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

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
