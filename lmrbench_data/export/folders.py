"""Write exported folders: complete or not at all, unchanged ones not again, and never over somebody else's files."""

import hashlib
import json
import os
import shutil
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..base.errors import InputError
from ..base.files import read_regular
from ..loader import File, write_files

#: Marks a folder as ours, with the identity of its content.
MARKER = ".lmrbench-export.json"
_MAX_MARKER_BYTES = 4096


def write_folder(folder: Path, files: Mapping[str, File]) -> bool:
    """Write a folder with these files in place of an earlier export; return whether anything had to be written.

    Raises:
        InputError: the folder exists, and is not an earlier export.
        OSError: it cannot be written; an earlier export is unchanged.
    """
    marker = json.dumps({"content_sha256": _identity(files)}) + "\n"
    if os.path.lexists(folder):
        if (there := _read_marker(folder)) is None:
            raise InputError(f"{folder}: not an export of lmrbench; give a new folder, or remove it")
        if there == json.loads(marker):
            return False
    staging = folder.with_name(f".{folder.name}-{uuid.uuid4().hex}")
    old = staging.with_name(f"{staging.name}-old")
    try:
        write_files({**files, MARKER: File(marker.encode())}, staging)
        if folder.exists():
            os.replace(folder, old)
        os.replace(staging, folder)
    except BaseException:
        if old.exists() and not folder.exists():
            os.replace(old, folder)
        raise
    finally:
        for leftover in (staging, old):
            shutil.rmtree(leftover, ignore_errors=True)
    return True


def _identity(files: Mapping[str, File]) -> str:
    lines = (f"{name} {file.executable} {hashlib.sha256(file.data).hexdigest()}\n" for name, file in files.items())
    return hashlib.sha256("".join(sorted(lines)).encode()).hexdigest()


def _read_marker(folder: Path) -> Any:
    """Return the marker of an export; None for anything else."""
    try:
        return json.loads(read_regular(folder / MARKER, _MAX_MARKER_BYTES))
    except (OSError, ValueError, RecursionError):
        return None
