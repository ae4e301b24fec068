"""Facts that the original published: its labels, its agents' actions, the structure of its repositories.

Counted from the original's repository at commit a8fc111f (MIT licence). The files hold numbers and categories only.
"""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from typing import Literal

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


def labels() -> tuple[Label, ...]:
    """Return the 168 answers that unit tests, a judge and a person rated: 28 tasks, 3 models, 2 settings."""
    return tuple(
        Label(
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
        for row in _read("labels.csv")
    )


def sessions() -> tuple[PublishedSession, ...]:
    """Return the sessions of OpenHands that the original published, 66 with a name."""
    return tuple(
        PublishedSession(row["model"], int(row["paper"]), {action: int(row[action]) for action in ACTIONS})
        for row in _read("actions.csv")
    )


def structures() -> tuple[PublishedStructure, ...]:
    """Return the original's repositories as folders of files."""
    return tuple(
        PublishedStructure(
            paper=int(row["paper"]),
            folder=row["folder"],
            files=int(row["files"]),
            directories=int(row["directories"]),
            average_directory_depth=float(row["average_directory_depth"]),
            average_branch_factor=float(row["average_branch_factor"]),
        )
        for row in _read("structure.csv")
    )


def _read(name: str) -> Iterator[dict[str, str]]:
    yield from csv.DictReader(files(__package__).joinpath(name).read_text(encoding="utf-8").splitlines())
