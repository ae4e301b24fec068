"""Facts that the original published: its labels, its agents' actions, the structure of its repositories.

Counted from the original's repository at commit a8fc111f (MIT licence). The files hold numbers and categories only.
`labels` and `sessions` also read the same tables of an import (`original/importer.py`).
"""

import csv
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Literal, TypeVar

from ..base.errors import InputError

Setting = Literal["no_agent", "openhands_agent"]
Category = Literal["CC", "LC", "LI"]

#: Kinds of agents' actions: the columns of actions.csv.
ACTIONS = ("browse", "browse_interactive", "edit", "finish", "message", "read", "run", "run_ipython", "think")


@dataclass(frozen=True)
class Label:
    """One answer of the original's evaluation: (setting, model, paper, function_index) is unique."""

    setting: Setting
    model: str
    paper: int
    function_index: int  # from 0, by the order in the paper's info.json
    instance_id: str  # of this benchmark
    passed: bool | None  # None: the original published no unit-test result for it
    judge: Category
    human: Category
    annotator: str


@dataclass(frozen=True)
class PublishedSession:
    """One agent's session on one paper, as counts of its actions."""

    model: str
    paper: int
    actions: dict[str, int]  # keys: ACTIONS


@dataclass(frozen=True)
class PublishedStructure:
    """One of the original's repositories. Three of them have no measures (all 0)."""

    paper: int
    folder: str
    files: int
    directories: int
    average_directory_depth: float
    average_branch_factor: float


_Made = TypeVar("_Made")


def labels(folder: str | Path | None = None) -> tuple[Label, ...]:
    """Return the 168 answers that unit tests, a judge and a person rated: 28 tasks, 3 models, 2 settings.

    Args:
        folder: of an import, to read its labels instead.

    Raises:
        InputError: the import has none, or they were changed.
    """
    return _read("labels.csv", _label, folder)


def sessions(folder: str | Path | None = None) -> tuple[PublishedSession, ...]:
    """The sessions of OpenHands that the original published, 66 with a name.

    Args:
        folder: of an import, to read its sessions instead.

    Raises:
        InputError: the import has none, or they were changed.
    """
    return _read("actions.csv", _session, folder)


def structures() -> tuple[PublishedStructure, ...]:
    """The original's repositories as folders of files."""
    return _read("structure.csv", _structure)


def _label(row: Mapping[str, str]) -> Label:
    return Label(
        setting=row["setting"],  # type: ignore[arg-type]
        model=row["model"],
        paper=int(row["paper"]),
        function_index=int(row["function_index"]),
        instance_id=row["instance_id"],
        passed={"pass": True, "fail": False, "": None}[row["unit_test"]],
        judge=row["judge"],  # type: ignore[arg-type]
        human=row["human"],  # type: ignore[arg-type]
        annotator=row["annotator"],
    )


def _session(row: Mapping[str, str]) -> PublishedSession:
    return PublishedSession(row["model"], int(row["paper"]), {action: int(row[action]) for action in ACTIONS})


def _structure(row: Mapping[str, str]) -> PublishedStructure:
    return PublishedStructure(
        paper=int(row["paper"]),
        folder=row["folder"],
        files=int(row["files"]),
        directories=int(row["directories"]),
        average_directory_depth=float(row["average_directory_depth"]),
        average_branch_factor=float(row["average_branch_factor"]),
    )


def _read(name: str, make: Callable[[Mapping[str, str]], _Made], folder: str | Path | None = None) -> tuple[_Made, ...]:
    """The rows of a table that is bundled, or that an import wrote into `folder`."""
    path = Path(folder) / name if folder else files(__package__).joinpath(name)
    try:
        return tuple(map(make, csv.DictReader(path.read_text(encoding="utf-8").splitlines())))
    except OSError as error:
        fix = "`lmrbench import` writes it if the clone has what it needs"
        raise InputError(f"{path}: {error.strerror}; {fix}") from error
    except (KeyError, ValueError, TypeError) as error:
        raise InputError(f"{path}: damaged ({type(error).__name__}: {error}); import again") from error
