"""Piped predictions: copied to a file first, because a pipe can be read only once."""

import hashlib
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lmrbench_data.base.errors import InputError

#: The word for standard input as a source, and its name in messages.
WORD, NAME = "-", "stdin"
#: Limit of standard input.
MAX_BYTES = 2 * 1024**3
_CHUNK = 1 << 20


@dataclass(frozen=True)
class Piped:
    """A copy of standard input."""

    path: Path
    """A temporary file."""
    sha256: str


@contextmanager
def copied_input() -> Iterator[Piped]:
    """Copy standard input to a file that lasts as long as the context.

    Raises:
        InputError: it is closed, or is larger than `MAX_BYTES`.
    """
    if sys.stdin is None:
        raise InputError("predictions '-': standard input is closed; pipe rows into it, or give a file")
    with tempfile.TemporaryDirectory(prefix="lmrbench-") as folder:
        digest, size, path = hashlib.sha256(), 0, Path(folder) / "stdin.jsonl"
        with path.open("wb") as file:
            while chunk := sys.stdin.buffer.read(_CHUNK):
                size += len(chunk)
                if size > MAX_BYTES:
                    raise InputError(
                        f"predictions '-': larger than {MAX_BYTES // 2**30} GiB; give a file, or fewer rows"
                    )
                digest.update(chunk)
                file.write(chunk)
        yield Piped(path, digest.hexdigest())
