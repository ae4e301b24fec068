"""Write reproducible archives: equal files give equal bytes, whatever the day, user and folder.

`lmrbench_data.loader.read_archive` reads them.
"""

import gzip
import io
import stat
import tarfile
from collections.abc import Mapping
from pathlib import Path, PurePath

from ..loader import File, LoadError, check_path
from .errors import InputError

#: Names in lower case of what running code, macOS, Windows, Linux and file servers leave behind.
_PYTHON = {"__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache"}
_MACOS = {".ds_store", "__macosx", ".appledouble", ".appledb", ".appledesktop", ".apdisk"}
_MACOS |= {".lsoverride", "icon\r", ".localized", ".fseventsd", ".trashes", ".spotlight-v100"}
_MACOS |= {".documentrevisions-v100", ".temporaryitems"}
_WINDOWS = {"thumbs.db", "ehthumbs.db", "desktop.ini", "$recycle.bin", "system volume information"}
_OTHERS = {".git", ".directory", "@eadir", "#recycle"}
_LEFT_BEHIND = _PYTHON | _MACOS | _WINDOWS | _OTHERS
#: The first is AppleDouble's, which macOS writes beside each file on a disk of another system.
_LEFT_PREFIXES = ("._", ".nfs", ".fuse_hidden", ".trash-")
#: Compiled Python, and the origin of a download, which Windows stores.
_LEFT_ENDINGS = (".pyc", "zone.identifier")


def is_left_behind(path: PurePath) -> bool:
    """Return whether a relative path is a by-product of running code or of an operating system."""
    names = [part.lower() for part in path.parts]
    return any(
        name in _LEFT_BEHIND or name.startswith(_LEFT_PREFIXES) or name.endswith(_LEFT_ENDINGS)
        for name in names
    )


def matching(folder: Path, pattern: str) -> list[Path]:
    """Return the sorted paths below a folder that match a pattern, without by-products."""
    return sorted(
        path for path in folder.glob(pattern) if not is_left_behind(path.relative_to(folder))
    )


def read_tree(folder: Path) -> dict[str, File]:
    """Read the regular files below `folder`, sorted by relative POSIX path, without by-products.

    Raises:
        InputError: the folder contains a symbolic link, a special file or an unsafe name.
    """
    files: dict[str, File] = {}
    for path in matching(folder, "**/*"):
        mode = path.lstat().st_mode
        if stat.S_ISDIR(mode):
            continue
        if not stat.S_ISREG(mode):
            raise InputError(f"{path}: a link or a special file, which cannot be packed; remove it")
        try:
            name = check_path(path.relative_to(folder).as_posix())
        except LoadError as error:
            raise InputError(f"{str(folder)!r}: {error}") from error
        files[name] = File(path.read_bytes(), bool(mode & 0o111))
    return dict(sorted(files.items()))


def pack(files: Mapping[str, File]) -> bytes:
    """Pack files into a gzipped tar."""
    return gzip_bytes(tar_bytes(files))


def tar_bytes(files: Mapping[str, File]) -> bytes:
    """Pack files into an uncompressed tar: sorted, times 0, owner root, modes 0644 or 0755."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, file in sorted(files.items()):
            info = tarfile.TarInfo(check_path(name))
            info.size = len(file.data)
            info.mode = 0o755 if file.executable else 0o644
            tar.addfile(info, io.BytesIO(file.data))
    return buffer.getvalue()


def gzip_bytes(data: bytes) -> bytes:
    """Gzip data without name, time or system in the header."""
    packed = gzip.compress(data, 9, mtime=0)
    # Before Python 3.13, zlib names the system in byte 9 of the header.
    return packed[:9] + b"\xff" + packed[10:]
