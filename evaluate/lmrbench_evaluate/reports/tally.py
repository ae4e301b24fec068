"""The outcome of each prediction row, and counts of outcomes and judgements."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

from lmrbench_data.base.proportions import Share
from lmrbench_data.tasks.guessing import SettledChoice

from ..judge.judgement_log import Judgement
from ..judge.opinion import BEST_FIRST
from ..predictions.prediction import was_cut
from ..runs.result_log import METHOD_KEYS
from ..verdict.choices import counted_choices
from ..verdict.levels import MISSING, OUTCOMES, Level, outcome
from ..verdict.verdict import Status
from .spending import read_numbers

#: Prefix of the reason why an answer cannot be shown to a judge.
NOT_JUDGED = "not judged: "


class ScoredAnswer(NamedTuple):
    """The outcome of one prediction row."""

    sample: int
    status: str
    core_status: str
    sha256: str
    judged: str | None
    """The judge's category; `judge_error` if the judge failed, `not judged: ` and a reason if the
    answer cannot be shown to a judge, None if the judge was not asked."""
    votes_lost: int = 0
    """Failed votes of the judge, where others succeeded."""
    functions: tuple[bool, ...] = ()
    """For each function of a method, whether it passed; empty for a single goal function."""
    experiments: tuple[bool, ...] = ()
    """The same for the experiments of a method."""
    readings: tuple[str, ...] = ()
    """For each altered choice of a counterfactual, the kind of reading (`READINGS`)."""
    settled: tuple[SettledChoice, ...] = ()
    """The choices that an underspecified paper leaves open, as the answer settled them."""
    searches_table: bool = False
    """Whether the answer holds numbers of its paper's tables; then it settles nothing."""
    amounts: Mapping[str, float] = MappingProxyType({})
    """Its cost, tokens and time, as far as its prediction states them."""
    cut: bool = False
    """Whether its reply was cut at the token limit."""

    @classmethod
    def of(
        cls, row: Mapping[str, Any], judgement: Judgement | None, metadata: Any = None
    ) -> "ScoredAnswer":
        """Score a result row; `metadata` is that of its prediction."""
        choices = counted_choices(row)
        return cls(
            sample=row["sample"],
            status=row["status"],
            core_status=row["core_status"],
            sha256=row["prediction_sha256"],
            judged=_label(judgement),
            votes_lost=judgement.errors if judgement and judgement.category else 0,
            **{key: _passed_parts(row, key) for key in METHOD_KEYS},
            readings=tuple(choice["reading"] for choice in choices if choice["altered"]),
            settled=tuple(SettledChoice.of(choice) for choice in choices if choice["open"]),
            searches_table=bool(row.get("searches_table")),
            amounts=read_numbers(metadata),
            cut=was_cut(metadata),
        )

    @property
    def outcome(self) -> str:
        """One of `OUTCOMES`."""
        return outcome(self.status, self.core_status)


def _passed_parts(row: Mapping[str, Any], key: str) -> tuple[bool, ...]:
    return tuple(part["status"] == Status.PASSED for part in row.get(key, ()))


def _label(judgement: Judgement | None) -> str | None:
    if judgement is None:
        return None
    if judgement.not_judged:
        return NOT_JUDGED + judgement.not_judged
    return str(judgement.category) if judgement.category else "judge_error"


@dataclass
class Tally:
    """Counts of prediction rows; a missing sample of an instance counts as `missing`."""

    outcomes: Counter[str] = field(default_factory=Counter)
    """Rows by outcome (`OUTCOMES`)."""
    judged: Counter[str] = field(default_factory=Counter)
    """Rows by the judge's category, including `judge_error` and `not judged: ...`."""
    nothing_to_judge: int = 0
    """Missing and malformed rows."""
    votes_lost: int = 0
    """Rows whose category rests on fewer votes than requested."""
    instances: int = 0

    @classmethod
    def of(cls, answers: Sequence[ScoredAnswer], samples: int) -> "Tally":
        """Count the answers to one instance.

        All instances have the same weight, so those up to the number of samples are missing.
        """
        tally = cls(instances=1)
        for answer in answers:
            tally.outcomes[answer.outcome] += 1
            tally.votes_lost += answer.votes_lost > 0
            if answer.judged:
                tally.judged[answer.judged] += 1
            elif answer.status == Status.MALFORMED:
                tally.nothing_to_judge += 1
        if missing := samples - len(answers):
            tally.outcomes[MISSING] = missing
            tally.nothing_to_judge += missing
        return tally

    def add(self, other: "Tally") -> None:
        """Add the counts of another tally."""
        self.outcomes.update(other.outcomes)
        self.judged.update(other.judged)
        self.nothing_to_judge += other.nothing_to_judge
        self.votes_lost += other.votes_lost
        self.instances += other.instances

    @property
    def total(self) -> int:
        """Number of rows, including missing ones."""
        return self.outcomes.total()

    @property
    def reproduced(self) -> int:
        """Number of rows whose core cases all passed, including robust ones."""
        return self.outcomes[Level.REPRODUCED] + self.robust

    @property
    def robust(self) -> int:
        """Number of rows whose cases all passed."""
        return self.outcomes[Level.ROBUST]

    def reached(self, level: Level) -> int:
        """Return the number of rows that reached a level."""
        return self.robust if level is Level.ROBUST else self.reproduced

    @property
    def graded(self) -> int:
        """Number of rows that were graded: neither missing nor an infra error."""
        return self.total - self.outcomes[MISSING] - self.outcomes[Status.INFRA_ERROR]

    def share(self, level: Level) -> Share:
        """Return the share of rows at a level; samples of one instance are not independent."""
        return Share(self.reached(level), self.total, self.instances)

    def graded_share(self, level: Level) -> Share:
        """Return the share of graded rows that reached a level."""
        return Share(self.reached(level), self.graded)

    def judged_share(self, category: str) -> Share:
        """Return the share of rows with this category of the judge."""
        return Share(self.judged[category], self.judge_base)

    @property
    def has_category(self) -> int:
        """Number of rows to which the judge gave a category; 0 if it judged none."""
        return sum(self.judged[name] for name in BEST_FIRST)

    @property
    def not_judged(self) -> dict[str, int]:
        """Number of rows that cannot be shown to a judge, by reason."""
        reasons = {}
        for name in sorted(self.judged):
            if name.startswith(NOT_JUDGED):
                reasons[name.removeprefix(NOT_JUDGED)] = self.judged[name]
        return reasons

    @property
    def unjudged(self) -> int:
        """Number of rows that the judge was not asked about although they can be judged."""
        return self.total - self.judged.total() - self.nothing_to_judge

    @property
    def judge_base(self) -> int:
        """The whole of the judge's shares."""
        return self.total - self.judged["judge_error"] - self.unjudged

    def as_dict(self) -> dict[str, Any]:
        """Return all numbers, for report.json."""
        outcomes = {name: self.outcomes[name] for name in OUTCOMES if self.outcomes[name]}
        return {
            "total": self.total,
            "graded": self.graded,
            **{str(level): self._level_dict(level) for level in Level},
            "outcomes": outcomes,
            "judge": self.judge_dict() if self.judged else None,
        }

    def _level_dict(self, level: Level) -> dict[str, Any]:
        of_graded = rounded(self.graded_share(level).value)
        return share_dict(self.share(level)) | {"share_of_graded": of_graded}

    def judge_dict(self) -> dict[str, Any]:
        """Return the numbers of the judge, for report.json."""
        return {
            **{str(name): self.judged[name] for name in BEST_FIRST},
            "judge_error": self.judged["judge_error"],
            "not_judged": self.not_judged,
            "nothing_to_judge": self.nothing_to_judge,
            "votes_lost": self.votes_lost,
            "unjudged": self.unjudged,
            "shares": {name: rounded(self.judged_share(name).value) for name in BEST_FIRST},
        }


def share_dict(share: Share) -> dict[str, Any]:
    """Return a share for report.json: count, rounded share and interval."""
    interval = [rounded(bound) for bound in share.interval]
    return {"count": share.part, "share": rounded(share.value), "ci95": interval}


def rounded(value: float | None) -> float | None:
    """Return a number for report.json."""
    return None if value is None else round(value, 4)
