"""The tasks of the Hub's leaderboard: a configuration, or the rows of one difficulty, in one track.

`eval.yaml` lists them, and results in models' repositories refer to them. The first task is the
leaderboard that the dataset's page shows, so it is the one that separates models best.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..base.proportions import CONTRACT, PAPER
from ..loader import COUNTERFACTUAL, FUNCTION, METHOD, UNDERSPECIFIED


@dataclass(frozen=True)
class HubTask:
    """A task of the leaderboard; its score is the share of answers at the level of its track."""

    id: str
    config: str
    track: str = PAPER
    difficulty: str = ""
    """The difficulty of its rows; empty if they are all rows of the configuration."""


HUB_TASKS = (
    HubTask("underspecified_hard", UNDERSPECIFIED, difficulty="hard"),
    HubTask("underspecified_silent", UNDERSPECIFIED, difficulty="silent"),
    HubTask("underspecified_easy", UNDERSPECIFIED, difficulty="easy"),
    HubTask("method", METHOD),
    HubTask("counterfactual", COUNTERFACTUAL),
    HubTask("function", FUNCTION),
    HubTask("function_contract", FUNCTION, track=CONTRACT),
)


def tasks_with_rows(rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> Iterator[HubTask]:
    """Yield the tasks that a dataset has rows for, given its rows by configuration."""
    for task in HUB_TASKS:
        table = rows.get(task.config, ())
        if any(task.difficulty in ("", row.get("difficulty", "")) for row in table):
            yield task
