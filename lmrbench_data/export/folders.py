"""Write exported folders: complete or not at all, and never over somebody else's files."""

import json
import os
import shutil
import uuid
from collections.abc import Mapping
from pathlib import Path

from ..base.errors import InputError
from ..base.files import read_regular, replace_folder
from ..loader import File, write_files

#: Marks a folder as ours, with the names of its files.
MARKER = ".lmrbench-export.json"
_MAX_MARKER_BYTES = 2**20


def write_folder(folder: Path, files: Mapping[str, File]) -> None:
    """Write a folder with these files in place of an earlier export."""
    folder = Path(os.path.abspath(folder))  # `.` has no name; links are not followed
    if os.path.lexists(folder):
        _refuse_foreign(folder)
    staging = folder.with_name(f".{folder.name}-{uuid.uuid4().hex}")
    # One level deeper, or Harbor would take what a killed export leaves for a task.
    new = staging / "new"
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        write_files({**files, MARKER: File(json.dumps(sorted(files)).encode())}, new)
        replace_folder(new, folder)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _refuse_foreign(folder: Path) -> None:
    """Refuse to replace anything but an earlier export without other files, such as notes or a clone."""
    fix = "use an empty folder, or remove it"
    is_folder = folder.is_dir() and not folder.is_symlink()
    if is_folder and not any(folder.iterdir()):
        return
    try:
        names = json.loads(read_regular(folder / MARKER, _MAX_MARKER_BYTES)) if is_folder else None
    except (OSError, ValueError, RecursionError):
        names = None
    if not isinstance(names, list):
        raise InputError(f"{folder}: not an export of lmrbench; {fix}")
    files = [path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()]
    ours = {folder / MARKER, *(folder / str(name) for name in names)}
    if foreign := [path for path in files if path not in ours]:
        raise InputError(f"{folder}: contains other files ({foreign[0].relative_to(folder)}); {fix}")
