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
from ..base.files import read_regular, replace_folder
from ..loader import File, write_files

#: Marks a folder as ours, with the identity of its content and the names of its files.
MARKER = ".lmrbench-export.json"
_MAX_MARKER_BYTES = 2**20


def write_folder(folder: Path, files: Mapping[str, File]) -> bool:
    """Write a folder with these files in place of an earlier export; return whether anything was written."""
    folder = Path(os.path.abspath(folder))  # `.` has no name; links are not followed
    marker = {"content_sha256": _identity(files), "files": sorted(files)}
    if os.path.lexists(folder):
        there = _read_marker(folder)
        if there == marker:
            return False
        _refuse_foreign(folder, there)
    staging = folder.with_name(f".{folder.name}-{uuid.uuid4().hex}")
    # One level deeper, or Harbor would take what a killed export leaves for a task.
    new = staging / "new"
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        write_files({**files, MARKER: File((json.dumps(marker) + "\n").encode())}, new)
        replace_folder(new, folder)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return True


def _identity(files: Mapping[str, File]) -> str:
    lines = (f"{name} {file.executable} {hashlib.sha256(file.data).hexdigest()}\n" for name, file in files.items())
    return hashlib.sha256("".join(sorted(lines)).encode()).hexdigest()


def _refuse_foreign(folder: Path, marker: Any) -> None:
    """Refuse to replace anything but an earlier export without other files, such as notes or a clone."""
    fix = "give a new folder, or remove it"
    is_folder = folder.is_dir() and not folder.is_symlink()
    if is_folder and not any(folder.iterdir()):
        return
    if not (is_folder and isinstance(marker, dict) and isinstance(names := marker.get("files"), list)):
        raise InputError(f"{folder}: not an export of lmrbench; {fix}")
    files = [path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()]
    ours = {folder / MARKER, *(folder / str(name) for name in names)}
    if foreign := [path for path in files if path not in ours]:
        raise InputError(f"{folder}: contains other files ({foreign[0].relative_to(folder)}); {fix}")


def _read_marker(folder: Path) -> Any:
    """Return the marker of an export; None for anything else."""
    try:
        return json.loads(read_regular(folder / MARKER, _MAX_MARKER_BYTES))
    except (OSError, ValueError, RecursionError):
        return None
