"""Write files atomically, and read untrusted files safely; the time format of all files."""

import contextlib
import datetime
import errno
import os
import shutil
import stat
import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path


def now() -> str:
    """Return the time in UTC, ISO 8601, to the second."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def is_too_long(path: Path) -> bool:
    """Return whether a path is longer than the system allows, as text in place of a path is."""
    try:
        path.stat()
    except OSError as error:
        return error.errno == errno.ENAMETOOLONG
    except ValueError:  # a null byte
        pass
    return False


@contextlib.contextmanager
def errors_name(path: Path) -> Iterator[None]:
    """Let errors of the system name the caller's path: they name a temporary one, or none."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise type(error)(error.errno, reason, str(path)) from error


def write_atomically(path: Path, content: bytes | str | Iterable[bytes]) -> None:
    """Write a file, text as UTF-8: readers see the old or the new content. Create its folders.

    Raises:
        OSError: it cannot be written; an existing file is unchanged.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{uuid.uuid4().hex}")
    try:
        # Text may contain folder names with invalid bytes, which are escaped.
        data = content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content
        with errors_name(path):
            with temporary.open("wb") as file:
                file.writelines([data] if isinstance(data, bytes) else data)
            os.replace(temporary, path)
    finally:
        # On a read-only file system, this error would hide the first one.
        with contextlib.suppress(OSError):
            temporary.unlink()


def replace_folder(new: Path, folder: Path) -> None:
    """Move a finished folder beside `folder` into its place and remove the old one.

    Raises:
        OSError: it cannot be moved; the old folder is back in its place.
    """
    old = new.with_name(f"{new.name}-old")
    try:
        if folder.exists():
            os.replace(folder, old)
        os.replace(new, folder)
    except BaseException:
        if old.exists() and not folder.exists():
            os.replace(old, folder)
        raise
    shutil.rmtree(old, ignore_errors=True)


def read_regular(path: Path, most: int) -> bytes:
    """Read an untrusted regular file without following links or blocking on pipes and devices.

    Args:
        most: maximum number of bytes.

    Raises:
        OSError: it is missing, not a regular file, or larger than `most` bytes.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"larger than {most} bytes", str(path))
    return data
