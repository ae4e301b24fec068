"""judgements.jsonl of a run folder: append-only, one row a vote, and the votes put together.

A judged row counts for its key (answer, judge, vote) whatever else is there; a `judge_error` counts only while the key
has nothing better, as an error and never as a category. `not_judged` is final: it is the answer's own doing.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from ...chat.prices import Price
from ...errors import InputError
from ...times import now
from ..predictions import UNSTATED
from ..runs.jsonl import Line, locked, parse_row, read_log, resume_log
from .category import Category
from .parse import Opinion

FILE = "judgements.jsonl"
JUDGED, NOT_JUDGED, JUDGE_ERROR = "judged", "not_judged", "judge_error"
#: Of several rows for one vote, the first of these counts.
_RANK = (JUDGED, NOT_JUDGED, JUDGE_ERROR, None)
#: Version 1 had no such key, and none of `_ROW_SINCE_2`.
ROW_VERSION = 2
#: Who gave a category.
BY_MODEL, BY_COMPARISON = "model", "identical"
#: What each row has, and what that is.
_ROW: dict[str, Any] = {
    "instance_id": str,
    "prediction_sha256": str,
    "judge_model": str,
    "prompt_version": str,
    "vote": int,
    "status": str,
    "category": (str, type(None)),
    "algorithm": str,
    "implementation": str,
    "rationale": list,
    "error": str,
    "input_tokens": int,
    "output_tokens": int,
    "cost_usd": (int, float, type(None)),
}
#: What newer rows have besides, and what is assumed of older ones.
_ROW_SINCE_2: dict[str, Any] = {"track": UNSTATED, "row_version": 1, "base_url": "", "by": BY_MODEL, "reason": ""}

AnswerId = tuple[str, str, str]
"""Instance id, hash of the prediction, track: equal answers to the same question are judged once."""


class Judge(NamedTuple):
    """Who judged, by which wording."""

    model: str
    prompt_version: str
    server: str = ""
    """Its address; empty for rows of a version that did not record it."""


class VoteKey(NamedTuple):
    """What a row of the file is about."""

    answer: AnswerId
    judge: Judge
    vote: int


@dataclass
class Judgement:
    """The votes of one judge on one answer, put together."""

    category: Category | None
    """What most votes say, the more severe category if two are even; None if no vote was judged."""
    votes: Counter[Category]
    agreement: float
    """The winner's share of the votes that were judged; 0 if none was."""
    rationale: list[str]
    algorithm: str
    implementation: str
    """These three are those of the first vote for the winner."""
    model: str
    prompt_version: str
    errors: int
    """Votes that could not be had."""
    not_judged: str = ""
    """Why the answer cannot be shown to any judge, if so: "too long"."""
    by: str = BY_MODEL
    """`identical` if nobody had to be asked: the code is the reference's."""


@dataclass(frozen=True)
class Vote:
    """What came of one vote; without opinion it is an error, or has a reason why nobody can be asked."""

    opinion: Opinion | None = None
    error: str = ""
    reason: str = ""
    by: str = BY_MODEL
    tokens: tuple[int, int] = (0, 0)
    """Of question and answer."""
    counted: bool = True
    """False if the server did not say how many tokens it took; then the cost is not known."""
    cost_usd: float | None = None
    temperature: float | None = None
    """None if the server's own was used, or nobody was asked."""
    duration_s: float = 0.0
    judged_at: str = field(default_factory=now)
    cached: bool = False
    """It was paid for by another run: this row cost nothing."""

    @property
    def status(self) -> str:
        """One of `judged`, `not_judged`, `judge_error`."""
        return JUDGED if self.opinion else NOT_JUDGED if self.reason else JUDGE_ERROR


@dataclass
class Spent:
    """What the rows of one judge model took from its servers."""

    input_tokens: int = 0
    output_tokens: int = 0
    known_cost: float = 0.0
    unpriced: tuple[int, int] = (0, 0)
    """Input and output tokens of rows that were written without a price."""
    uncounted: int = 0
    """Rows of which nobody knows how many tokens they took."""

    def add(self, row: dict[str, Any]) -> None:
        """Count one row."""
        tokens = row["input_tokens"], row["output_tokens"]
        self.input_tokens += tokens[0]
        self.output_tokens += tokens[1]
        # Older rows do not say so, but every answer takes tokens.
        paid = row["status"] == JUDGED and not row.get("cached")
        if not row.get("counted", any(tokens) or not paid):
            self.uncounted += 1
        elif row["cost_usd"] is None:
            self.unpriced = self.unpriced[0] + tokens[0], self.unpriced[1] + tokens[1]
        else:
            self.known_cost += row["cost_usd"]

    def cost(self, price: Price | None) -> float | None:
        """US dollars, at `price` where a row has none of its own; None if that is not known."""
        if self.uncounted or (any(self.unpriced) and price is None):
            return None
        return self.known_cost + (price.cost(*self.unpriced) if price else 0.0)


@dataclass
class JudgementFile:
    """An open judgements.jsonl; use `JudgementFile.open` as a context manager."""

    statuses: dict[VoteKey, str] = field(default_factory=dict)
    spent: defaultdict[str, Spent] = field(default_factory=lambda: defaultdict(Spent))
    """By judge model."""
    _append: Callable[[dict[str, Any]], None] | None = None

    @classmethod
    @contextmanager
    def open(cls, run_folder: Path) -> Iterator["JudgementFile"]:
        """Create or resume the file of a run; a last row that was cut short is removed.

        Raises:
            InputError: another process judges this run, or the file is damaged.
        """
        path = run_folder / FILE
        busy = f"{run_folder}: another process is judging this run; wait for it"
        with locked(run_folder / ".judgements.lock", busy), path.open("ab") as file:
            opened = cls()
            opened._append = resume_log(file, path, _lines(path), opened._count)
            yield opened

    def append(self, key: VoteKey, vote: Vote) -> None:
        """Write one row; it is on its way to the disk when this returns."""
        opinion = vote.opinion
        row = {
            "row_version": ROW_VERSION,
            "instance_id": key.answer[0],
            "prediction_sha256": key.answer[1],
            "track": key.answer[2],
            "judge_model": key.judge.model,
            "base_url": key.judge.server,
            "prompt_version": key.judge.prompt_version,
            "vote": key.vote,
            "status": vote.status,
            "category": str(opinion.category) if opinion else None,
            "by": vote.by,
            "algorithm": opinion.algorithm if opinion else "",
            "implementation": opinion.implementation if opinion else "",
            "rationale": list(opinion.rationale) if opinion else [],
            "error": vote.error,
            "reason": vote.reason,
            "temperature": vote.temperature,
            "input_tokens": vote.tokens[0],
            "output_tokens": vote.tokens[1],
            "counted": vote.counted,
            "cost_usd": vote.cost_usd if vote.counted else None,
            "duration_s": round(vote.duration_s, 3),
            "judged_at": vote.judged_at,
            "cached": vote.cached,
        }
        assert self._append is not None
        self._append(row)

    def _count(self, row: dict[str, Any]) -> None:
        key = _key(row)
        self.statuses[key] = min(self.statuses.get(key), row["status"], key=_RANK.index)
        self.spent[key.judge.model].add(row)


def read_judgements(
    run_folder: Path, judge_model: str | None = None, prompt_version: str | None = None, server: str | None = None
) -> dict[AnswerId, Judgement]:
    """The judgements of one judge by answer (`answer_id`); empty if the run was not judged.

    Args:
        judge_model: whose (see `judges`); by default the model that was asked last.
        prompt_version: by which wording; by default the one it was asked by last. Votes of two wordings never mix.
        server: at which address; by default the one where it was asked last. Nor do votes of two servers.

    Raises:
        InputError: a damaged file, or this judge judged nothing here.
    """
    known = judges(run_folder)
    wanted = Judge(judge_model or "", prompt_version or "", server or "")
    chosen = [judge for judge in known if all(want in ("", has) for want, has in zip(wanted, judge, strict=True))]
    if not chosen and any(wanted):
        names = ", ".join(" ".join(judge).strip() for judge in known) or "nobody"
        raise InputError(f"{run_folder}: not judged by {' '.join(wanted).strip()}; judged by {names}")
    if not chosen:
        return {}
    votes: dict[AnswerId, dict[int, dict[str, Any]]] = {}
    for _, _, row in _lines(run_folder / FILE):
        key = _key(row)
        if key.judge == chosen[-1]:
            of_answer = votes.setdefault(key.answer, {})
            if _RANK.index(row["status"]) <= _RANK.index(of_answer.get(key.vote, row)["status"]):
                of_answer[key.vote] = row
    return {answer: _together(list(of_answer.values()), chosen[-1]) for answer, of_answer in votes.items()}


def judges(run_folder: Path) -> list[Judge]:
    """Who judged a run, in the order in which they were asked last.

    Raises:
        InputError: a damaged file.
    """
    last: dict[Judge, None] = {}
    for _, _, row in _lines(run_folder / FILE):
        judge = _key(row).judge
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


def answer_id(row: Mapping[str, Any]) -> AnswerId:
    """Which answer a row of judgements or of results is about."""
    return row["instance_id"], row["prediction_sha256"], row["track"]


def _key(row: dict[str, Any]) -> VoteKey:
    return VoteKey(answer_id(row), Judge(row["judge_model"], row["prompt_version"], row["base_url"]), row["vote"])


def _lines(path: Path) -> Iterator[Line]:
    return read_log(path, _parse, "remove that line, or move the file away to judge again")


def _parse(line: bytes) -> dict[str, Any] | None:
    """A row of the file, None for anything else."""
    row = parse_row(line, _ROW)
    if row is None:
        return None
    row = {**_ROW_SINCE_2, **row}
    if any(type(row[name]) is not type(value) for name, value in _ROW_SINCE_2.items()):
        return None
    if row["status"] == JUDGED:
        return row if row["category"] in list(Category) else None
    return row if row["status"] in (NOT_JUDGED, JUDGE_ERROR) and row["category"] is None else None
