"""The outcome of one prediction row: its verdict, the parts of a method that passed, and the judge's category."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from lmrbench_data.tasks.guessing import SettledChoice

from ..judge.judgement_log import Judgement
from ..verdict.choices import STATED, counted_choices
from ..verdict.levels import outcome
from ..verdict.verdict import Status

#: Prefix of the reason why an answer cannot be shown to a judge.
NOT_JUDGED = "not judged: "


class ScoredAnswer(NamedTuple):
    """The outcome of one prediction row."""

    sample: int
    status: str
    core_status: str
    sha256: str
    judged: str | None
    """The judge's category; `judge_error` if the judge failed, `not judged: ` and a reason if the answer cannot be
    shown to a judge, None if the judge was not asked."""
    votes_lost: int = 0
    """Failed votes of the judge, where others succeeded."""
    functions: tuple[bool, ...] = ()
    """For each function of a method, whether it passed; empty for a single goal function."""
    experiments: tuple[bool, ...] = ()
    """For each experiment of a method, whether it passed."""
    readings: tuple[str, ...] = ()
    """For each altered choice of a counterfactual, the kind of reading (`verdict.choices.READINGS`)."""
    settled: tuple[SettledChoice, ...] = ()
    """The choices that an underspecified paper leaves open."""
    searches_table: bool = False
    """Whether the answer holds numbers of its paper's tables; then it settles nothing."""

    @classmethod
    def of(cls, row: Mapping[str, Any], judgement: Judgement | None) -> "ScoredAnswer":
        """Score a result row."""
        lost = judgement.errors if judgement and judgement.category else 0
        names = row["sample"], row["status"], row["core_status"], row["prediction_sha256"]
        parts = passed_parts(row, "functions"), passed_parts(row, "experiments")
        choices = altered_readings(row), settled_choices(row)
        searches = bool(row.get("searches_table"))
        return cls(*names, _label(judgement), lost, *parts, *choices, searches_table=searches)

    @property
    def outcome(self) -> str:
        """One of `OUTCOMES`."""
        return outcome(self.status, self.core_status)


def passed_parts(row: Mapping[str, Any], key: str) -> tuple[bool, ...]:
    """Return for each function or experiment of a result row whether it passed.

    Args:
        key: `functions` or `experiments`.
    """
    return tuple(part["status"] == Status.PASSED for part in row.get(key, ()))


def altered_readings(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the kind of reading for each choice whose published option the paper does not state.

    An answer without outputs, because it could not be applied or ended early, implements no option.
    """
    return tuple(choice["reading"] for choice in counted_choices(row) if choice["altered"])


def settled_choices(row: Mapping[str, Any]) -> tuple[SettledChoice, ...]:
    """Return the open choices of a result row, as its answer decided them."""
    opened = (choice for choice in counted_choices(row) if choice["open"])
    return tuple(
        SettledChoice(choice["reading"] == STATED, choice["options"], choice["published"]) for choice in opened
    )


def _label(judgement: Judgement | None) -> str | None:
    if judgement is None:
        return None
    if judgement.not_judged:
        return NOT_JUDGED + judgement.not_judged
    return str(judgement.category) if judgement.category else "judge_error"
