"""The two levels of a verdict: which one leads each track, and the one word for what became of an answer."""

from enum import StrEnum

from lmrbench_data.base.ranking import ranking_level
from lmrbench_data.dataset.rows import TRACKS

from ..predictions.prediction import UNSTATED
from .verdict import Status


class Level(StrEnum):
    """How far an answer is right; every robust answer is reproduced as well."""

    REPRODUCED = "reproduced"
    """Every core case passed: what follows from paper and repository."""
    ROBUST = "robust"
    """Every case passed: those of the contract, too."""


#: What an instance without an answer counts as, beside the statuses.
MISSING = "missing"
#: All that can become of an answer, best first: the level that it reached, or the status of its core cases.
OUTCOMES = (*map(str, reversed(Level)), *(str(status) for status in Status if status is not Status.PASSED), MISSING)
#: Tracks in the order of tables.
TRACK_ORDER = (*TRACKS, UNSTATED)


def headline(track: str) -> Level:
    """Return the level that ranks a track (see `lmrbench_data.base.ranking`)."""
    return Level(ranking_level(track))


def outcome(status: str, core_status: str) -> str:
    """The level that an answer reached, or what went wrong in its core cases: one of `OUTCOMES`."""
    if status == Status.PASSED:
        return str(Level.ROBUST)
    if status == Status.INFRA_ERROR:
        return status
    return str(Level.REPRODUCED) if core_status == Status.PASSED else core_status


def reaches(outcome: str, level: Level) -> bool:
    """Whether an answer with this outcome reached a level."""
    return outcome in (Level.ROBUST, level)
