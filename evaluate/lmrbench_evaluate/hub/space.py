"""Assemble the leaderboard Space: the files of `cards/space/` and the package's modules that it imports."""

from pathlib import Path

from lmrbench_data.base import names
from lmrbench_data.base.errors import InputError
from lmrbench_data.base.files import write_atomically
from lmrbench_data.base.paths import cards_folder

from ..reports import stats
from . import record

#: Modules without imports of ours: a Space does not have the package. They go into the folder `base`.
_MODULES = (names, record, stats)


def write_space(folder: Path) -> list[Path]:
    """Write everything that a Space repository needs into a folder, new or empty; return the files."""
    if folder.exists() and any(folder.iterdir()):
        raise InputError(f"{folder}: is not empty; give a new folder")
    sources = {path.name: path for path in sorted((cards_folder() / "space").iterdir()) if path.is_file()}
    for module in _MODULES:
        path = Path(str(module.__file__))
        sources[f"base/{path.name}"] = path
    for name, source in sources.items():
        write_atomically(folder / name, source.read_bytes())
    return [folder / name for name in sources]
