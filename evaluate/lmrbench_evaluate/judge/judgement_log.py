"""judgements.jsonl of a run folder: append-only, one row per vote, and the majority of the votes.

A judged row takes precedence over all others of its key (answer, judge, vote). A `judge_error` counts only while the
key has no other row, as an error and never as a category. `not_judged` is final: the answer itself is the cause.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from lmrbench_data.base.errors import InputError
from lmrbench_data.base.near import did_you_mean

from ..predictions.prediction import UNSTATED
from .category import Category
from .parse import Opinion
from .question_log import BY_MODEL, AnswerId, Judge, QuestionLog, QuestionOutcome, answer_id

FILE = "judgements.jsonl"
JUDGED, NOT_JUDGED, JUDGE_ERROR = "judged", "not_judged", "judge_error"
#: Version 1 had no such key, and none of `_ROW_SINCE_2`.
ROW_VERSION = 2
#: The keys that were added in version 2, and the values with which older rows are read.
_ROW_SINCE_2: dict[str, Any] = {"track": UNSTATED, "row_version": 1, "base_url": "", "by": BY_MODEL, "reason": ""}


class VoteKey(NamedTuple):
    """Identity of a vote."""

    answer: AnswerId
    judge: Judge
    vote: int


@dataclass
class Judgement:
    """The majority of one judge's votes on one answer."""

    category: Category | None
    """The category with most votes, the more severe one of two equal ones; None if no vote was judged."""
    votes: Counter[Category]
    agreement: float
    """The winner's share of the judged votes; 0 if there are none."""
    rationale: list[str]
    algorithm: str
    implementation: str
    """These three come from the first vote for the winner."""
    model: str
    prompt_version: str
    errors: int
    """Votes that failed."""
    not_judged: str = ""
    """The reason why the answer cannot be shown to any judge, such as "too long"."""
    by: str = BY_MODEL
    """`identical` if the code is the reference's, so no model was asked."""


class JudgementLog(QuestionLog):
    """An open judgements.jsonl; use `JudgementLog.open` as a context manager."""

    FIX = "remove that line, or move the file away to judge again"
    STATUSES = JUDGED, NOT_JUDGED, JUDGE_ERROR
    ROW: ClassVar = {
        "vote": int,
        "category": (str, type(None)),
        **dict.fromkeys(("algorithm", "implementation"), str),
        "rationale": list,
    }

    def append(self, key: VoteKey, vote: QuestionOutcome[Opinion]) -> None:
        """Write one row."""
        opinion = vote.opinion
        self.add(
            key.answer,
            key.judge,
            vote,
            row_version=ROW_VERSION,
            vote=key.vote,
            category=str(opinion.category) if opinion else None,
            by=vote.by,
            algorithm=opinion.algorithm if opinion else "",
            implementation=opinion.implementation if opinion else "",
            rationale=list(opinion.rationale) if opinion else [],
            judged_at=vote.asked_at,
        )

    @classmethod
    def key(cls, row: Mapping[str, Any]) -> VoteKey:
        """Return the vote that a row is about."""
        return VoteKey(answer_id(row), Judge.of(row), row["vote"])

    @classmethod
    def parse(cls, line: bytes) -> dict[str, Any] | None:
        """Read a line; None if it is not a row of this file."""
        row = cls.parse_keys(line)
        if row is None:
            return None
        row = {**_ROW_SINCE_2, **row}
        if any(type(row[name]) is not type(value) for name, value in _ROW_SINCE_2.items()):
            return None
        if row["status"] == JUDGED:
            return row if row["category"] in list(Category) else None
        return row if row["status"] in cls.STATUSES and row["category"] is None else None


def read_judgements(
    run_folder: Path, judge_model: str | None = None, prompt_version: str | None = None, server: str | None = None
) -> dict[AnswerId, Judgement]:
    """Read the judgements of one judge by answer (`answer_id`); empty if the run was not judged.

    Args:
        judge_model: model that judged; by default the last one (see `judges`).
        prompt_version: version of its prompt; by default the last one. Votes of two versions never mix.
        server: its address; by default the last one. Votes of two servers never mix.

    Raises:
        InputError: the file is damaged, or has no judgement of this judge.
    """
    known = judges(run_folder)
    wanted = Judge(judge_model or "", prompt_version or "", server or "")
    chosen = [judge for judge in known if all(want in ("", has) for want, has in zip(wanted, judge, strict=True))]
    if not chosen and any(wanted):
        names = ", ".join(" ".join(judge).strip() for judge in known) or "nobody"
        near = did_you_mean(wanted.model, {judge.model for judge in known}, within=True)
        raise InputError(f"{run_folder}: not judged by {' '.join(wanted).strip()}{near}; judged by {names}")
    if not chosen:
        return {}
    votes: dict[AnswerId, dict[int, dict[str, Any]]] = {}
    for row in JudgementLog.read(run_folder / FILE):
        key = JudgementLog.key(row)
        if key.judge == chosen[-1]:
            of_answer = votes.setdefault(key.answer, {})
            if JudgementLog.rank(row) <= JudgementLog.rank(of_answer.get(key.vote, row)):
                of_answer[key.vote] = row
    return {answer: _together(list(of_answer.values()), chosen[-1]) for answer, of_answer in votes.items()}


def judges(run_folder: Path) -> list[Judge]:
    """Return the judges of a run, in the order of their last votes.

    Raises:
        InputError: the file is damaged.
    """
    last: dict[Judge, None] = {}
    for row in JudgementLog.read(run_folder / FILE):
        judge = Judge.of(row)
        last.pop(judge, None)
        last[judge] = None
    return list(last)


def _together(rows: list[dict[str, Any]], judge: Judge) -> Judgement:
    judged = [row for row in rows if row["status"] == JUDGED]
    votes = Counter(Category(row["category"]) for row in judged)
    # Categories are in order of severity, and the first of equal ones wins.
    winner = max(Category, key=lambda category: votes[category]) if judged else None
    first = min((row for row in judged if row["category"] == winner), key=lambda row: row["vote"], default=None)
    return Judgement(
        category=winner,
        votes=votes,
        agreement=votes[winner] / len(judged) if winner else 0.0,
        rationale=list(first["rationale"]) if first else [],
        algorithm=first["algorithm"] if first else "",
        implementation=first["implementation"] if first else "",
        model=judge.model,
        prompt_version=judge.prompt_version,
        errors=sum(row["status"] == JUDGE_ERROR for row in rows),
        not_judged="" if judged else next((row["reason"] for row in rows if row["status"] == NOT_JUDGED), ""),
        by=first["by"] if first else BY_MODEL,
    )
