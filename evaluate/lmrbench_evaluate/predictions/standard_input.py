"""Piped predictions: copied to a file first, because a pipe can be read only once."""

import hashlib
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lmrbench_data.base.errors import InputError

#: The word for standard input as a source, and its name in messages.
WORD, NAME = "-", "stdin"


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
        InputError: it is closed.
    """
    if sys.stdin is None:
        raise InputError("predictions '-': standard input is closed; pipe rows into it, or give a file")
    with tempfile.TemporaryDirectory(prefix="lmrbench-") as folder:
        path = Path(folder) / "stdin.jsonl"
        with path.open("w+b") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
            file.seek(0)
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        yield Piped(path, sha256)
