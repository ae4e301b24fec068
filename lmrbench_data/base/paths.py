"""Where the package's own data lies (checkout or wheel), and where things are cached."""

import os
import shlex
from pathlib import Path

from .errors import InputError

_PACKAGE = Path(__file__).resolve().parents[1]


def _data_folder(name: str) -> Path:
    # A wheel puts the folder inside the package, a checkout (and an editable install) beside it.
    for candidate in (_PACKAGE / name, _PACKAGE.parent / name):
        if candidate.is_dir():
            return candidate
    raise InputError(f"{name}/ is missing from this installation; install lmrbench-data again")


def benchmark_folder() -> Path:
    """The tasks and environments."""
    return _data_folder("benchmark")


def has_variants(folder: Path) -> bool:
    """Whether a folder of tasks may hold variants; a wheel leaves out those of the benchmark."""
    return folder.resolve() != _PACKAGE / "benchmark"


def benchmark_option(folder: Path) -> str:
    """What a command that is suggested to a user needs to find this benchmark; empty for the installed one."""
    return "" if folder.resolve() == benchmark_folder() else f" --benchmark {shlex.quote(str(folder))}"


def cards_folder() -> Path:
    """The templates of cards."""
    return _data_folder("cards")


def cache_folder() -> Path:
    """`$LMRBENCH_CACHE`, else `lmrbench` below `$XDG_CACHE_HOME` or `~/.cache`; everything in it can be made again."""
    if explicit := os.environ.get("LMRBENCH_CACHE"):
        return Path(explicit).expanduser()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "lmrbench"
