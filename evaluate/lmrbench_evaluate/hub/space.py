"""Write the files of the leaderboard Space into a folder."""

from collections.abc import Sequence
from pathlib import Path

from lmrbench_data.base import names, proportions
from lmrbench_data.base.errors import InputError
from lmrbench_data.base.files import write_atomically
from lmrbench_data.base.paths import cards_folder

from ..reports import stats
from . import record as record_format
from .record import Record

#: The modules that the Space gets a copy of: they import nothing of ours.
SPACE_MODULES = (names, proportions, record_format, stats)
#: Folder of the Space with the records of local runs.
LOCAL = "local"


def write_space(folder: Path, local: Sequence[Record] = ()) -> list[Path]:
    """Write the files of a Space repository into a folder, new or empty; return these files.

    Args:
        local: records to show in place of those of a results dataset.
    """
    if folder.exists() and any(folder.iterdir()):
        raise InputError(f"{folder}: is not an empty folder; name a new one, or remove it")
    contents = {}
    for path in sorted((cards_folder() / "space").iterdir()):
        if path.is_file():
            contents[path.name] = path.read_bytes()
    for module in SPACE_MODULES:
        path = Path(str(module.__file__))
        contents[f"base/{path.name}"] = path.read_bytes()
    for record in local:
        contents[f"{LOCAL}/{record.run_id}.json"] = record.model_dump_json().encode()
    for name, content in contents.items():
        write_atomically(folder / name, content)
    return [folder / name for name in contents]
