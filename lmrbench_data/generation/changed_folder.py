"""Read a repository on disk that somebody else has owned, and may still write to, into `Changes`."""

import os
import stat
from pathlib import Path

from ..base.files import read_regular
from .changes import MAX_CHANGED_BYTES, Changes

_KINDS = {stat.S_IFLNK: "a symbolic link", stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket"}
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW


def read_folder(folder: Path, changes: Changes) -> None:
    """Add the files below a folder that somebody else has owned, and may still write to.

    Raises:
        OSError: the folder cannot be opened.
        TooMuchError: there is too much in it.
    """
    descriptor = os.open(folder, _FOLDER)
    try:
        _read_open(descriptor, "", changes)
    finally:
        os.close(descriptor)


def _read_open(folder: int, prefix: str, changes: Changes) -> None:
    """Add the content of an open folder by descriptors, so that no link can take its place on the way."""
    for part in sorted(os.listdir(folder)):
        name = prefix + part
        try:
            facts = os.stat(part, dir_fd=folder, follow_symlinks=False)
            if stat.S_ISDIR(facts.st_mode):
                if changes.add_folder(name):
                    _enter(folder, part, name, changes)
            elif stat.S_ISREG(facts.st_mode):
                changes.add_file(
                    name,
                    facts.st_size,
                    bool(facts.st_mode & stat.S_IXUSR),
                    lambda part=part: read_regular(part, MAX_CHANGED_BYTES, folder=folder),  # type: ignore[misc]
                )
            else:
                changes.add_other(name, _KINDS.get(stat.S_IFMT(facts.st_mode), "a device"))
        except OSError as error:
            changes.add_other(name, str(error.strerror))


def _enter(folder: int, part: str, name: str, changes: Changes) -> None:
    descriptor = os.open(part, _FOLDER, dir_fd=folder)
    try:
        _read_open(descriptor, f"{name}/", changes)
    finally:
        os.close(descriptor)
