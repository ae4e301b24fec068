"""Write reproducible archives: equal files give equal bytes, whatever the day, user and folder.

`lmrbench_data.loader.read_archive` reads them.
"""

import gzip
import io
import stat
import tarfile
from collections.abc import Mapping
from pathlib import Path

from ..loader import File, LoadError, check_path
from .errors import InputError

#: Left behind by running code; never part of a repository.
IGNORED_PARTS = frozenset({"__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".DS_Store", ".git"})


def read_tree(folder: Path) -> dict[str, File]:
    """Read all regular files below `folder`, sorted by relative POSIX path, except caches.

    Raises:
        InputError: the folder contains a symbolic link, a special file or an unsafe name.
    """
    files: dict[str, File] = {}
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        if IGNORED_PARTS.intersection(relative.parts) or path.suffix == ".pyc":
            continue
        mode = path.lstat().st_mode
        if stat.S_ISDIR(mode):
            continue
        if not stat.S_ISREG(mode):
            raise InputError(f"{path}: a link or a special file, which cannot be packed; remove it")
        try:
            name = check_path(relative.as_posix())
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
            info.size, info.mode = len(file.data), 0o755 if file.executable else 0o644
            tar.addfile(info, io.BytesIO(file.data))
    return buffer.getvalue()


def gzip_bytes(data: bytes) -> bytes:
    """Gzip data without name, time or system in the header."""
    packed = gzip.compress(data, 9, mtime=0)
    return packed[:9] + b"\xff" + packed[10:]  # before Python 3.13, zlib names the system in the header
