"""Load and verify a dataset: the tasks of the installed package, a folder, or the Hub."""

import contextlib
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, cast

from .. import loader
from ..base.errors import InputError
from ..loader import FUNCTION
from .rows import DatasetRow

if TYPE_CHECKING:
    from datasets import Dataset

#: The spec of the installed package's own tasks.
EMBEDDED = "embedded"


def load(spec: str | Path = EMBEDDED, config: str = FUNCTION) -> "Dataset":
    """Load and verify a dataset.

    Args:
        spec: `embedded` (the installed package's own tasks), a folder made by `lmrbench dataset build`, or
            `org/name[@revision]` on the Hub.
        config: `function` (one goal function per row) or `method` (all functions of a paper's method).

    Returns:
        The split as a `datasets.Dataset`, one row per instance.

    Raises:
        LoadError: nothing is there, or the rows differ from what the card at that place states.
        InputError: a task of the installed package is malformed (`embedded` only).
    """
    if str(spec) != EMBEDDED:
        return loader.load(spec, config)
    import pyarrow
    from datasets import Dataset

    from .columns import schema

    return Dataset(pyarrow.Table.from_pylist(load_rows(config=config), schema=schema(config)))


def load_rows(spec: str | Path = EMBEDDED, config: str = FUNCTION, instances: Collection[str] = ()) -> list[DatasetRow]:
    """Load a dataset as `load` does, as dictionaries, without importing `datasets`.

    Args:
        instances: the caller needs no other rows, so they may be missing if all of these are known.
    """
    if str(spec) != EMBEDDED:
        return cast(list[DatasetRow], loader.load_rows(spec, config))
    from ..tasks.task_folders import load_tasks
    from .build import build_rows

    if instances:
        with contextlib.suppress(InputError):  # unknown: the caller says so, and has the names of all rows for it
            return build_rows(load_tasks(instances, config=config))
    return build_rows(load_tasks(config=config))
