"""Predictions that are piped in: kept in a file while they are read, because a pipe can be read only once."""

import hashlib
import logging
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lmrbench_data.base.errors import InputError

_log = logging.getLogger(__name__)

#: The word that stands for it, and how it is called in messages.
WORD, NAME = "-", "stdin"
#: What is kept of it at most.
MAX_BYTES = 2 * 1024**3
_CHUNK = 1 << 20


@dataclass(frozen=True)
class Piped:
    """What came in on standard input."""

    path: Path
    """A file of our own: JSON lines, or JSON lines gzipped, as its name says."""
    sha256: str


@contextmanager
def kept_input() -> Iterator[Piped]:
    """Standard input to its end as a file, which is there as long as the context is open.

    Raises:
        InputError: it is closed, holds Parquet, or has more than `MAX_BYTES`.
    """
    if sys.stdin is None:
        raise InputError("predictions '-': standard input is closed; pipe rows into it, or give a file")
    if sys.stdin.isatty():
        _log.info("reading predictions, one JSON object a line; Ctrl-D ends them")
    with tempfile.TemporaryDirectory(prefix="lmrbench-") as folder:
        digest, size, path = hashlib.sha256(), 0, Path(folder) / "stdin.jsonl"
        with path.open("wb") as file:
            while chunk := sys.stdin.buffer.read(_CHUNK):
                size += len(chunk)
                if size > MAX_BYTES:
                    raise InputError(f"predictions '-': more than {MAX_BYTES // 2**30} GiB; give a file, or less")
                digest.update(chunk)
                file.write(chunk)
        with path.open("rb") as file:
            start = file.read(4)
        if start == b"PAR1":
            raise InputError("predictions '-': standard input is Parquet; save it to a .parquet file and give that")
        is_gzip = start.startswith(b"\x1f\x8b")
        yield Piped(path.rename(f"{path}.gz") if is_gzip else path, digest.hexdigest())
