"""Folders: the package's own data (checkout or wheel) and the user's cache."""

import os
import shlex
from pathlib import Path

from .errors import InputError

_PACKAGE = Path(__file__).resolve().parents[1]


def _data_folder(name: str) -> Path:
    # In a wheel the folder is inside the package, in a checkout (and an editable install) beside
    # it.
    for candidate in (_PACKAGE / name, _PACKAGE.parent / name):
        if candidate.is_dir():
            return candidate
    raise InputError(f"{name}/ is missing from this installation; install lmrbench again")


def benchmark_folder() -> Path:
    """Return the folder of tasks and environments."""
    return _data_folder("benchmark")


def has_variants(folder: Path) -> bool:
    """Return whether a folder of tasks includes variants; the wheel's benchmark does not."""
    return folder.resolve() != _PACKAGE / "benchmark"


def benchmark_option(folder: Path) -> str:
    """Return the option for this benchmark in a suggested command; empty for the installed one."""
    return (
        "" if folder.resolve() == benchmark_folder() else f" --benchmark {shlex.quote(str(folder))}"
    )


def cards_folder() -> Path:
    """Return the folder of card templates."""
    return _data_folder("cards")


def cache_folder() -> Path:
    """Return `$LMRBENCH_CACHE`, else `lmrbench` in the user's cache; its content is expendable."""
    default = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "lmrbench")
    try:
        return Path(os.environ.get("LMRBENCH_CACHE") or default).expanduser()
    except RuntimeError as error:  # as in containers, for a user without a name
        raise InputError(
            "this user has no home folder; set LMRBENCH_CACHE to a folder for the cache"
        ) from error
