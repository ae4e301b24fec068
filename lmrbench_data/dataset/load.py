"""Load and verify a dataset: the tasks of the installed package, a folder, or the Hub."""

import contextlib
import functools
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, cast

from .. import loader
from ..base.errors import ArgumentError, InputError, LMRBenchError
from ..loader import CONFIGS, FUNCTION, NoConfigError
from .rows import DatasetRow

if TYPE_CHECKING:
    from datasets import Dataset

#: The spec of the installed package's own tasks.
EMBEDDED = "embedded"


def load(spec: str | Path = EMBEDDED, config: str = FUNCTION) -> "Dataset":
    """Load and verify a dataset as a `datasets.Dataset`, one row per instance.

    Args:
        spec: `embedded` (the installed package's own tasks), a folder made by `lmrbench dataset
            build`, or `org/name[@revision]` on the Hub.
        config: one of `lmrbench_data.loader.CONFIGS`.

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


def load_rows(
    spec: str | Path = EMBEDDED, config: str = FUNCTION, instances: Collection[str] = ()
) -> list[DatasetRow]:
    """Load a dataset as `load` does, as dictionaries, without importing `datasets`.

    Args:
        instances: the caller needs no other rows, so they may be missing if all of these are known.

    Raises:
        ArgumentError: one of these instances belongs to another configuration.
    """
    if str(spec) == EMBEDDED:
        rows = _embedded_rows(config, instances)
    else:
        rows = cast(list[DatasetRow], loader.load_rows(spec, config))
    check_config(instances, rows, spec)
    return rows


def check_config(instances: Iterable[str], rows: Iterable[DatasetRow], spec: str | Path) -> None:
    """Check that no instance belongs to another configuration of the dataset than these rows.

    Raises:
        ArgumentError: one does; the message names its configuration.
    """
    for name in sorted(set(instances) - {row["instance_id"] for row in rows}):
        if config := _configs(str(spec)).get(name):
            raise ArgumentError("config", f"{name} belongs to the configuration {config}")


def other_config(name: str, spec: str | Path) -> str:
    """Name the configuration of an instance, as the end of a message on rows that lack it."""
    with contextlib.suppress(LMRBenchError):
        if config := _configs(str(spec)).get(name):
            return f", which belongs to the configuration {config}"
    return ""


def _configs(spec: str) -> dict[str, str]:
    """Return instance id → configuration of all rows of a dataset."""
    card = Path(spec).resolve() / "README.md"
    return _configs_of(spec, (card, card.stat().st_mtime_ns) if card.is_file() else None)


@functools.lru_cache(maxsize=1)  # a file of answers may name it in each of its rows
def _configs_of(spec: str, build: object) -> dict[str, str]:
    """Read the configurations of a dataset; `build` is only a part of the cache's key."""
    from ..tasks.task_folders import places

    if spec == EMBEDDED:
        return {name: place.config for name, place in places().items()}
    configs: dict[str, str] = {}
    for config, rows in rows_by_config((), spec, every=True).items():
        configs.update((row["instance_id"], config) for row in rows)
    return configs


def rows_by_config(
    instances: Iterable[str], spec: str | Path, *, every: bool = False
) -> dict[str, list[DatasetRow]]:
    """Load one configuration after the other until these instances are loaded.

    Args:
        instances: may be unknown.
        every: load all configurations.
    """
    loaded: dict[str, list[DatasetRow]] = {}
    missing = set(instances)
    for config in CONFIGS:
        with contextlib.suppress(NoConfigError):
            loaded[config] = load_rows(spec, config)
            missing -= {row["instance_id"] for row in loaded[config]}
        if loaded and not (missing or every):
            break
    return loaded


def _embedded_rows(config: str, instances: Collection[str]) -> list[DatasetRow]:
    from ..tasks.task_folders import load_tasks
    from .build import build_rows

    if instances:
        # Unknown ones are the caller's to report, with the names of all rows.
        with contextlib.suppress(InputError):
            return build_rows(load_tasks(instances, config=config))
    return build_rows(load_tasks(config=config))
