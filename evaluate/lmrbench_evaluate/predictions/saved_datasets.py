"""Find the Arrow files of a folder that `datasets` wrote with `save_to_disk`: a dataset, or a dictionary of splits.

Nothing in the folder is trusted: a name in it must be that of a file in the folder.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lmrbench_data.base.errors import InputError

#: The files that list the others: of a dataset, and of a dictionary of splits.
_STATE, _SPLITS = "state.json", "dataset_dict.json"
_MAX_STATE_BYTES = 16 * 1024 * 1024
_PLAIN = re.compile(r"\w[\w.-]*")


def is_saved_dataset(path: Path) -> bool:
    """Tell whether `save_to_disk` wrote a folder."""
    return (path / _STATE).is_file() or (path / _SPLITS).is_file()


def arrow_files(path: Path) -> Iterator[tuple[Path, list[Path]]]:
    """Yield the folder of each split, or of the only dataset, and its files in order.

    Raises:
        InputError: the folder is damaged.
    """
    if not (path / _SPLITS).is_file():
        folders = [path]
    else:
        folders = [path / name for name in _names(path / _SPLITS, _facts(path / _SPLITS).get("splits"))]
    for folder in folders:
        listed = _facts(folder / _STATE).get("_data_files")
        if isinstance(listed, list):
            listed = [item.get("filename") if isinstance(item, dict) else None for item in listed]
        files = [folder / name for name in _names(folder / _STATE, listed)]
        for file in files:
            if not file.is_file():
                raise InputError(f"{file}: is missing; save the dataset again")
        yield folder, files


def _facts(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            facts = json.loads(file.read(_MAX_STATE_BYTES))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); save the dataset again") from error
    except (ValueError, RecursionError):
        facts = None
    if not isinstance(facts, dict):
        raise _damaged(path)
    return facts


def _names(path: Path, names: Any) -> list[str]:
    """Check names of files or folders beside `path`."""
    if isinstance(names, list) and all(isinstance(name, str) and _PLAIN.fullmatch(name) for name in names):
        return names
    raise _damaged(path)


def _damaged(path: Path) -> InputError:
    return InputError(f"{path}: is not what `save_to_disk` writes; save the dataset again")
