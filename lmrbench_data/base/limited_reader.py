"""Read untrusted Parquet and Arrow files in a child process with limits on memory and time.

A small file can lie about itself: a footer that hides gigabytes behind a hundred rows, an index outside its
dictionary, a page that crashes the reader. All of that hits the child (`file_rows`). What comes back is JSON, a row per
frame, within limits that this side checks again.
"""

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from .child import Child, clean_environment, describe_status, frame

MIB = 1024 * 1024
#: Address space of the child, which needs about 300 MiB for itself.
MEMORY_BYTES = 2048 * MIB
#: The longest wait for the next row.
PATIENCE_S = 120.0
#: Memory is counted as address space, so nothing may reserve more than it uses.
_FRUGAL = {"ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_ARENA_MAX": "2"}
_FRUGAL |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")
#: The only key of an object that stands for a value which JSON lacks; its value is the name of the type.
OTHER = "\0other"
_BOOT = f"import sys; sys.path.insert(0, sys.argv[1]); from {__package__}.file_rows import main; main()"


class UnreadableError(Exception):
    """A file cannot be read within its limits; the message gives the reason in our own words, without its name."""


class UnreadableRow:
    """Stands for a row that cannot be read though others can.

    Attributes:
        reason: why.
    """

    def __init__(self, reason: str) -> None:
        self.reason = reason


class Reader:
    """A child process that reads files, one after the other; a file that crashes it costs only itself.

    Use it as a context manager: the child ends with it.
    """

    def __init__(self) -> None:
        self._child: Child | None = None

    def __enter__(self) -> "Reader":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the child."""
        child, self._child = self._child, None
        if child is not None:
            child.kill()

    def parquet_rows(self, path: Path, *, max_rows: int, max_bytes: int, max_row: int = 64 * MIB) -> Iterator[Any]:
        """Yield the rows of a Parquet file in order, as mappings.

        A row that is not UTF-8 or longer than `max_row` is an `UnreadableRow`.

        Args:
            max_bytes: limit of all rows as JSON.
            max_row: limit of one row as JSON, in bytes.

        Raises:
            UnreadableError: damaged, or beyond a limit; rows may have been yielded before.
        """
        return self._rows("Parquet", path, max_rows, max_bytes, max_row)

    def arrow_rows(self, path: Path, *, max_rows: int, max_bytes: int, max_row: int = 64 * MIB) -> Iterator[Any]:
        """Yield the rows of an Arrow stream, as `datasets` saves it; see `parquet_rows`."""
        return self._rows("Arrow", path, max_rows, max_bytes, max_row)

    def _rows(self, kind: str, path: Path, max_rows: int, max_bytes: int, max_row: int) -> Iterator[Any]:
        request = {"path": str(path), "kind": kind, "max_rows": max_rows, "max_row": max_row}
        return self._ask(request, max_bytes, max_row)

    def _ask(self, request: Mapping[str, Any], max_bytes: int, max_row: int) -> Iterator[Any]:
        child = self._child if self._child and self._child.is_running() else self._start()
        ended = False
        try:
            with contextlib.suppress(BrokenPipeError):  # the answer is missing, too
                child.send(frame(json.dumps(request).encode("ascii")), time.monotonic() + PATIENCE_S)
            rest = max_bytes
            while True:
                data = child.read_frame(2 * max_row + MIB, time.monotonic() + PATIENCE_S)
                if data is None:
                    raise UnreadableError(f"crashes its reader ({_ending(child)})")
                rest -= len(data)
                if rest < -MIB:
                    raise UnreadableError(f"expands to more than {max_bytes // MIB} MiB")
                kind, value = _parse(data)
                if kind == "row":
                    yield value
                elif kind == "bad":
                    yield UnreadableRow(str(value)[:300])
                else:
                    ended = True
                    if kind == "error":
                        raise UnreadableError(str(value)[:300])
                    return
        except TimeoutError:
            raise UnreadableError(f"takes longer than {PATIENCE_S:.0f} s to read") from None
        except OverflowError:
            raise UnreadableError(f"a row is longer than {max_row // MIB} MiB") from None
        finally:
            if not ended:  # its state is unknown, or it is in the middle of a file
                self.close()

    def _start(self) -> Child:
        self.close()
        root = Path(__file__).resolve().parents[str(__package__).count(".") + 1]
        command = [sys.executable, "-P", "-c", _BOOT, str(root)]
        self._child = Child(command, environment=clean_environment() | _FRUGAL)
        return self._child


def _parse(data: bytes) -> tuple[str, Any]:
    try:
        kind, value = json.loads(data, object_hook=_other)
    except (ValueError, TypeError, RecursionError):
        raise UnreadableError("crashes its reader (a malformed reply)") from None
    return str(kind), value


def _other(value: dict[str, Any]) -> Any:
    """Return an object whose type has the name of the one in the file, and nothing else."""
    if value.keys() == {OTHER}:
        return type(str(value[OTHER])[:50], (), {})()
    return value


def _ending(child: Child) -> str:
    try:
        return describe_status(child.process.wait(10))
    except subprocess.TimeoutExpired:
        return "it hangs"
