"""judgements.jsonl of a run folder: append-only, one row per vote, and the majority of the votes.

A judged row takes precedence over all others of its key (answer, judge, vote). A `judge_error`
counts only while the key has no other row, as an error and never as a category. `not_judged` is
final: the answer itself is the cause. The log of error analysis has the same rows, with diagnoses
in place of opinions.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from lmrbench_data.base.errors import InputError
from lmrbench_data.base.files import now
from lmrbench_data.base.jsonl import Ledger
from lmrbench_data.base.suggestions import did_you_mean
from lmrbench_data.chat.budget import Spent

from ..predictions.prediction import UNSTATED, AnswerKey
from .opinion import Category, Opinion, Reply

FILE = "judgements.jsonl"
JUDGED, NOT_JUDGED, JUDGE_ERROR = STATUSES = "judged", "not_judged", "judge_error"
#: The source of an opinion: the model, or a comparison that found the reference's own code.
BY_MODEL = "model"
BY_COMPARISON = "identical"


class Judge(NamedTuple):
    """A model at a server, with one version of the prompt."""

    model: str
    prompt_version: str
    server: str = ""
    """Its address; empty for rows that do not name it."""
    body: str = ""
    """JSON of the parameters that the user added to each request; empty for none."""

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> "Judge":
        """Return the judge that a row names."""
        return cls(row["judge_model"], row["prompt_version"], row["base_url"], row["body"])


class VoteKey(NamedTuple):
    """Identity of a vote."""

    answer: AnswerKey
    judge: Judge
    vote: int

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> "VoteKey":
        """Return the vote that a row is about."""
        return cls(AnswerKey.of(row).question, Judge.of(row), row["vote"])


class VoteRow(BaseModel):
    """A row of the log, apart from the opinion itself, whose fields follow."""

    model_config = ConfigDict(extra="allow")

    instance_id: str
    prediction_sha256: str
    track: str = UNSTATED
    judge_model: str
    base_url: str = ""
    prompt_version: str
    body: str = ""
    vote: int = 0
    status: Literal["judged", "not_judged", "judge_error"]
    by: str = BY_MODEL
    error: str = ""
    reason: str = ""
    """The reason why the answer cannot be shown to any model; empty for a question that failed."""
    temperature: float | None = None
    """None if the server's own was used, or no model was asked."""
    input_tokens: int = 0
    output_tokens: int = 0
    counted: bool = True
    """False if the server did not report its tokens: the cost is unknown."""
    cost_usd: float | None = 0.0
    cut_by_server: str = ""
    """The numbers of tokens sent and read, if the server read far fewer."""
    duration_s: float = 0.0
    judged_at: str = Field(default_factory=now)


class VoteLog(Ledger):
    """An open log of votes; use `open` as a context manager."""

    #: The type of the opinions.
    OPINION: ClassVar[type[Reply]]

    def __init__(self) -> None:
        super().__init__()
        self.spent: defaultdict[str, Spent] = defaultdict(Spent)
        """By model."""
        self._statuses: dict[VoteKey, str] = {}

    @classmethod
    def parse(cls, line: bytes) -> dict[str, Any] | None:
        """Read a line; None if it is not a row of this file."""
        try:
            row = VoteRow.model_validate_json(line).model_dump()
            if row["status"] == JUDGED:
                cls.OPINION.model_validate(row)
        except ValueError:
            return None
        return row

    def add(self, key: VoteKey, opinion: Reply | None = None, **facts: Any) -> None:
        """Write a vote: an opinion, a reason why no model can be asked, or an error."""
        if opinion:
            facts |= {"status": JUDGED, **opinion.model_dump(mode="json", by_alias=True)}
        else:
            facts["status"] = NOT_JUDGED if facts.get("reason") else JUDGE_ERROR
            facts |= dict.fromkeys(self.OPINION.model_fields)
        row = VoteRow(
            instance_id=key.answer.instance_id,
            prediction_sha256=key.answer.sha256,
            track=key.answer.track,
            judge_model=key.judge.model,
            base_url=key.judge.server,
            prompt_version=key.judge.prompt_version,
            body=key.judge.body,
            vote=key.vote,
            **facts,
        )
        self.write(row.model_dump())

    def is_done(self, key: VoteKey) -> bool:
        """Return whether a vote has a final row; one that only failed is asked again."""
        return self._statuses.get(key) in (JUDGED, NOT_JUDGED)

    def count(self, row: dict[str, Any]) -> None:
        """Note the status and the cost of a row."""
        key = VoteKey.of(row)
        status = row["status"]
        self._statuses[key] = min(self._statuses.get(key, status), status, key=STATUSES.index)
        self.spent[row["judge_model"]].count(row)

    @classmethod
    def votes(cls, path: Path, judge: Judge) -> dict[AnswerKey, list[dict[str, Any]]]:
        """Return the rows of one judge that count, by answer."""
        best: dict[AnswerKey, dict[int, dict[str, Any]]] = defaultdict(dict)
        for row in cls.read(path):
            if Judge.of(row) != judge:
                continue
            votes = best[AnswerKey.of(row).question]
            number = row["vote"]
            earlier = votes.get(number, row)
            votes[number] = min(row, earlier, key=lambda item: STATUSES.index(item["status"]))
        return {answer: list(votes.values()) for answer, votes in best.items()}

    @classmethod
    def judges(cls, path: Path) -> list[Judge]:
        """Return the judges of a log, in the order of their last votes."""
        judges: dict[Judge, None] = {}
        for row in cls.read(path):
            judge = Judge.of(row)
            judges.pop(judge, None)
            judges[judge] = None
        return list(judges)


class JudgementLog(VoteLog):
    """An open judgements.jsonl."""

    FIX = "remove that line, or move the file away to judge again"
    OPINION = Opinion


@dataclass(kw_only=True)
class Judgement:
    """The majority of one judge's votes on one answer."""

    category: Category | None = None
    """The category with most votes, the more severe of two equal ones; None without a vote."""
    votes: Counter[Category]
    agreement: float = 0.0
    """The winner's share of the judged votes; 0 if there are none."""
    rationale: list[str] = field(default_factory=list)
    algorithm: str = ""
    implementation: str = ""
    """These three come from the first vote for the winner."""
    model: str
    errors: int
    """Votes that failed."""
    not_judged: str = ""
    """The reason why the answer cannot be shown to any judge, such as "too long"."""
    by: str = BY_MODEL
    """`identical` if the code is the reference's, so no model was asked."""
    error: str = ""
    """Why the first of the votes without a category failed."""


def read_judgements(
    run_folder: Path, judge: Judge | str | None = None
) -> dict[AnswerKey, Judgement]:
    """Read the judgements of one judge by answer; empty if the run was not judged.

    Args:
        judge: the judge, or its model; by default the last one. Votes of two judges never mix.

    Raises:
        InputError: the file is damaged, or has no judgement of this model.
    """
    if not isinstance(judge, Judge):
        judge = _last_judge(run_folder, judge)
    if judge is None:
        return {}
    votes = JudgementLog.votes(run_folder / FILE, judge)
    return {answer: _majority(rows, judge) for answer, rows in votes.items()}


def _last_judge(run_folder: Path, model: str | None) -> Judge | None:
    """Return the last judge of a run, or the last that is a model; None if there is no judge.

    Raises:
        InputError: the run was not judged by this model.
    """
    judges = JudgementLog.judges(run_folder / FILE)
    if not model:
        return judges[-1] if judges else None
    for judge in reversed(judges):
        if judge.model == model:
            return judge
    names = ", ".join(" ".join(judge).strip() for judge in judges) or "nobody"
    near = did_you_mean(model, {judge.model for judge in judges})
    raise InputError(f"{run_folder}: not judged by {model}{near}; judged by {names}")


def _majority(rows: list[dict[str, Any]], judge: Judge) -> Judgement:
    judged = [row for row in rows if row["status"] == JUDGED]
    errors = [row for row in rows if row["status"] == JUDGE_ERROR]
    refused = [row for row in rows if row["status"] == NOT_JUDGED]
    messages = [row["error"] for row in rows if row["status"] != JUDGED]
    judgement = Judgement(
        votes=Counter(Category(row["category"]) for row in judged),
        model=judge.model,
        errors=len(errors),
        error=messages[0] if messages else "",
    )
    if judged:
        _add_winner(judgement, judged)
    elif refused:
        judgement.not_judged = refused[0]["reason"]
    return judgement


def _add_winner(judgement: Judgement, judged: list[dict[str, Any]]) -> None:
    # Categories are in order of severity, and the first of equal ones wins.
    winner = max(Category, key=lambda category: judgement.votes[category])
    supporters = [row for row in judged if row["category"] == winner]
    first = min(supporters, key=lambda row: row["vote"])
    judgement.category = winner
    judgement.agreement = len(supporters) / len(judged)
    judgement.rationale = list(first["rationale"])
    judgement.algorithm = first["algorithm"]
    judgement.implementation = first["implementation"]
    judgement.by = first["by"]
