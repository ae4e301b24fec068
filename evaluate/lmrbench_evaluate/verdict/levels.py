"""The two levels of a verdict and the outcomes of answers."""

from enum import StrEnum

from lmrbench_data.base.proportions import TRACKS

from ..predictions.prediction import UNSTATED
from .verdict import Status


class Level(StrEnum):
    """A level of correctness; every robust answer is reproduced as well."""

    REPRODUCED = "reproduced"
    """Every core case passed: these follow from paper and repository."""
    ROBUST = "robust"
    """Every case passed, including those of the contract."""


#: The outcome of an instance without an answer.
MISSING = "missing"
#: All outcomes, best first: the level that an answer reached, or else the status of its core cases.
OUTCOMES = (
    *map(str, reversed(Level)),
    *(str(status) for status in Status if status is not Status.PASSED),
    MISSING,
)
#: Tracks in the order of tables.
TRACK_ORDER = (*TRACKS, UNSTATED)


def outcome(status: str, core_status: str) -> str:
    """Return the outcome of an answer, one of `OUTCOMES`."""
    if status == Status.PASSED:
        return str(Level.ROBUST)
    if status == Status.INFRA_ERROR:
        return status
    return str(Level.REPRODUCED) if core_status == Status.PASSED else core_status


def reaches(outcome: str, level: Level) -> bool:
    """Return whether an answer with this outcome reached a level."""
    return outcome in (Level.ROBUST, level)
