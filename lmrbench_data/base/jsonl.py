"""Read and append to JSON-lines files: a kill may cut the last row short, an edit damage any."""

import errno
import json
import logging
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, ClassVar, NamedTuple, Self

from filelock import FileLock, Timeout

from .errors import InputError
from .files import errors_name, write_atomically

_log = logging.getLogger(__name__)

#: Limit of a row: parsed, a hostile one takes up to 54 times its size.
MAX_LINE_BYTES = 16 * 2**20
#: Bytes that may stand before an object: white space, and the mark of UTF-8.
_BEFORE_OBJECT = b" \t\r\n\xef\xbb\xbf"


class Line(NamedTuple):
    """One row of a file, and the bytes at which it starts and ends."""

    start: int
    end: int
    row: dict[str, Any]


def read_log(
    path: Path, parse: Callable[[bytes], dict[str, Any] | None], fix: str
) -> Iterator[Line]:
    """Yield the rows of a file in order, without a last one that was cut short; none if missing.

    A whole row counts without a newline, too: other programs write files that end so.

    Args:
        parse: returns a line's row, or None if the line is malformed.
        fix: what the user can do about a damaged file.

    Raises:
        InputError: a row before the last is malformed, or one is too long.
    """
    if not path.exists():
        return
    with path.open("rb") as file:
        start = 0
        lines = iter(lambda: file.readline(MAX_LINE_BYTES + 1), b"")
        for number, line in enumerate(lines, start=1):
            if len(line) > MAX_LINE_BYTES:
                raise InputError(f"{path}:{number}: longer than {MAX_LINE_BYTES >> 20} MiB; {fix}")
            row = parse(line)
            if row is None:
                if line.endswith(b"\n"):
                    raise InputError(f"{path}:{number}: damaged; {fix}")
                return
            yield Line(start, start + len(line), row)
            start += len(line)


class Ledger:
    """An append-only JSON-lines file that one process writes: locked, resumable, every row counted.

    Opening it counts the rows that are there and removes a last row that a kill cut short. A
    subclass defines a row (`KEYS`, or `parse`) and takes note of each one (`count`).
    """

    #: The keys of a row, and the type of each.
    KEYS: ClassVar[Mapping[str, Any]] = {}
    #: What the user can do about a damaged row.
    FIX = "remove that line, or move the file away"

    def __init__(self) -> None:
        self.path = Path()
        self.lock = threading.RLock()
        """Lock to hold during a change that several threads may make."""
        self._file: IO[bytes] | None = None

    @classmethod
    def parse(cls, line: bytes) -> dict[str, Any] | None:
        """Read a line; None if it is not a row of this file."""
        return parse_row(line, cls.KEYS)

    @classmethod
    def read(cls, path: Path) -> Iterator[dict[str, Any]]:
        """Yield the rows of a file that others may be writing; none if it is missing.

        Raises:
            InputError: a row is damaged.
        """
        return (line.row for line in read_log(path, cls.parse, cls.FIX))

    @classmethod
    @contextmanager
    def open(cls, path: Path) -> Iterator[Self]:
        """Create or resume a file; one that stays empty is removed, with its lock.

        Raises:
            InputError: it cannot be written, another process is writing to it, or a row is damaged.
        """
        lock = FileLock(path.with_name(f".{path.name}.lock"))
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            lock.acquire(blocking=False)
            file = path.open("ab")
        except Timeout:
            raise InputError(f"{path}: another process is writing to it; wait for it") from None
        except OSError as error:
            reason = error.strerror
            if error.errno == errno.ENOLCK:
                reason = "the file system cannot lock files"
            raise InputError(
                f"{path}: cannot be written ({reason}); choose another place"
            ) from error
        with lock, file:
            ledger = cls()
            ledger.path = path
            end = 0
            for line in read_log(path, cls.parse, cls.FIX):
                ledger.count(line.row)
                end = line.end
            if path.stat().st_size > end:
                _log.warning("%s: the last row was cut short and is dropped", path)
                os.truncate(path, end)
            ledger._file = file
            if end and not _ends_line(path):
                file.write(b"\n")
            try:
                yield ledger
            finally:
                with ledger.lock:
                    if ledger._file:
                        with errors_name(path):
                            ledger._file.close()
                    ledger._file = None
                    if path.is_file() and not path.stat().st_size:
                        path.unlink()
                        Path(lock.lock_file).unlink()

    def count(self, row: dict[str, Any]) -> None:
        """Take note of a row that was read or written."""
        raise NotImplementedError

    def write(self, row: dict[str, Any]) -> None:
        """Append a row and count it; the operating system has it when this returns.

        Raises:
            InputError: nobody could read the row again; nothing is written.
        """
        with self.lock:
            assert self._file is not None, "the ledger is not open"
            line = self._line(row)
            with errors_name(self.path):
                self._file.write(line)
                self._file.flush()
            self.count(row)

    def rewrite(self, rows: Iterable[dict[str, Any]]) -> None:
        """Replace all rows, or fail and change nothing; the ledger is closed afterwards."""
        with self.lock:
            write_atomically(self.path, map(self._line, rows))
            self._file = None

    def _line(self, row: Mapping[str, Any]) -> bytes:
        line = line_of(row)
        if self.parse(line) is None:
            raise InputError(
                f"{self.path}: a row is not written, because it could not be read again"
            )
        return line


def line_of(row: Mapping[str, Any]) -> bytes:
    """Return the line of a row; InputError if it is too long to be read again."""
    line = json.dumps(row).encode("ascii") + b"\n"
    if len(line) > MAX_LINE_BYTES:
        raise InputError(
            f"a row of {len(line):,} bytes is not written: "
            f"no more than {MAX_LINE_BYTES:,} can be read again"
        )
    return line


def _ends_line(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read() == b"\n"


def parse_row(line: bytes, keys: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the JSON object of a line if it has these keys, with these types; else None."""
    # Parsed, a long list would take many times its size.
    if not line.lstrip(_BEFORE_OBJECT).startswith(b"{"):
        return None
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return row if wrong_key(row, keys) is None else None


def wrong_key(value: Any, keys: Mapping[str, Any]) -> str | None:
    """Return the first key that a value lacks or has with another type; None if all are right.

    For a value other than an object, return a phrase that says so.
    """
    if not isinstance(value, dict):
        return "not a JSON object"
    for name, kind in keys.items():
        if not isinstance(value.get(name), kind):
            return name
    return None
