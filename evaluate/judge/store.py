"""judgements.jsonl of a run folder: append-only, one row a vote, and the votes put together.

A judged row counts for its key (answer, judge model, prompt version, vote) whatever else is there; a `judge_error`
counts only while the key has no judged row, as an error and never as a category.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, NamedTuple

from filelock import FileLock, Timeout

from ...errors import InputError
from ...times import now
from ..runs.jsonl import Line, cut_tail, parse_row, read_log
from .category import Category
from .parse import Opinion
from .prices import Price

FILE = "judgements.jsonl"
JUDGED, JUDGE_ERROR = "judged", "judge_error"
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

AnswerId = tuple[str, str]
"""Instance id and hash of the prediction: equal answers are judged once."""


class Judge(NamedTuple):
    """Who judged, by which wording."""

    model: str
    prompt_version: str


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


@dataclass
class Spent:
    """What the rows of one judge model took from its servers."""

    input_tokens: int = 0
    output_tokens: int = 0
    known_cost: float = 0.0
    unpriced: tuple[int, int] = (0, 0)
    """Input and output tokens of rows that were written without a price."""

    def add(self, row: dict[str, Any]) -> None:
        """Count one row."""
        tokens = row["input_tokens"], row["output_tokens"]
        self.input_tokens += tokens[0]
        self.output_tokens += tokens[1]
        if row["cost_usd"] is None:
            self.unpriced = self.unpriced[0] + tokens[0], self.unpriced[1] + tokens[1]
        else:
            self.known_cost += row["cost_usd"]

    def cost(self, price: Price | None) -> float | None:
        """US dollars, at `price` where a row has none of its own; None if that is not known."""
        if any(self.unpriced) and price is None:
            return None
        return self.known_cost + (price.cost(*self.unpriced) if price else 0.0)


@dataclass
class JudgementFile:
    """An open judgements.jsonl; use `JudgementFile.open` as a context manager."""

    statuses: dict[VoteKey, str] = field(default_factory=dict)
    spent: defaultdict[str, Spent] = field(default_factory=lambda: defaultdict(Spent))
    """By judge model."""
    _file: IO[bytes] | None = None

    @classmethod
    @contextmanager
    def open(cls, run_folder: Path) -> Iterator["JudgementFile"]:
        """Create or resume the file of a run; a last row that was cut short is removed.

        Raises:
            InputError: another process judges this run, or the file is damaged.
        """
        path = run_folder / FILE
        lock = FileLock(run_folder / ".judgements.lock")
        try:
            lock.acquire(blocking=False)
        except Timeout:
            raise InputError(f"{run_folder}: another process is judging this run; wait for it") from None
        with lock, path.open("ab") as file:
            opened = cls(_file=file)
            end = 0
            for line in _lines(path):
                opened._count(line.row)
                end = line.end
            cut_tail(path, end)
            yield opened

    def append(
        self,
        key: VoteKey,
        opinion: Opinion | None,
        *,
        error: str = "",
        tokens: tuple[int, int] = (0, 0),
        cost_usd: float | None = None,
        duration_s: float = 0.0,
        judged_at: str = "",
        cached: bool = False,
    ) -> None:
        """Write one row; it is on its way to the disk when this returns.

        Args:
            opinion: None for a judgement that could not be had, for the reason `error`.
            cached: it was paid for by another run: this row cost nothing.
        """
        row = {
            "instance_id": key.answer[0],
            "prediction_sha256": key.answer[1],
            "judge_model": key.judge.model,
            "prompt_version": key.judge.prompt_version,
            "vote": key.vote,
            "status": JUDGED if opinion else JUDGE_ERROR,
            "category": str(opinion.category) if opinion else None,
            "algorithm": opinion.algorithm if opinion else "",
            "implementation": opinion.implementation if opinion else "",
            "rationale": list(opinion.rationale) if opinion else [],
            "error": error,
            "input_tokens": tokens[0],
            "output_tokens": tokens[1],
            "cost_usd": cost_usd,
            "duration_s": round(duration_s, 3),
            "judged_at": judged_at or now(),
            "cached": cached,
        }
        assert self._file is not None
        self._file.write(json.dumps(row).encode("ascii") + b"\n")
        self._file.flush()
        self._count(row)

    def _count(self, row: dict[str, Any]) -> None:
        key = _key(row)
        if self.statuses.get(key) != JUDGED:
            self.statuses[key] = row["status"]
        self.spent[key.judge.model].add(row)


def read_judgements(
    run_folder: Path, judge_model: str | None = None, prompt_version: str | None = None
) -> dict[AnswerId, Judgement]:
    """The judgements of one judge by (instance id, prediction's hash); empty if the run was not judged.

    Args:
        judge_model: whose (see `judges`); by default the model that was asked last.
        prompt_version: by which wording; by default the one it was asked by last. Votes of two wordings never mix.

    Raises:
        InputError: a damaged file, or this judge judged nothing here.
    """
    known = judges(run_folder)
    wanted = Judge(judge_model or "", prompt_version or "")
    chosen = [judge for judge in known if all(want in ("", has) for want, has in zip(wanted, judge, strict=True))]
    if not chosen and any(wanted):
        names = ", ".join(" ".join(judge) for judge in known) or "nobody"
        raise InputError(f"{run_folder}: not judged by {' '.join(wanted).strip()}; judged by {names}")
    if not chosen:
        return {}
    votes: dict[AnswerId, dict[int, dict[str, Any]]] = {}
    for _, _, row in _lines(run_folder / FILE):
        key = _key(row)
        if key.judge == chosen[-1]:
            of_answer = votes.setdefault(key.answer, {})
            if row["status"] == JUDGED or of_answer.get(key.vote, row)["status"] != JUDGED:
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
        errors=len(rows) - len(judged),
    )


def _key(row: dict[str, Any]) -> VoteKey:
    answer = row["instance_id"], row["prediction_sha256"]
    return VoteKey(answer, Judge(row["judge_model"], row["prompt_version"]), row["vote"])


def _lines(path: Path) -> Iterator[Line]:
    return read_log(path, _parse, "remove that line, or move the file away to judge again")


def _parse(line: bytes) -> dict[str, Any] | None:
    """A row of the file, None for anything else."""
    row = parse_row(line, _ROW)
    if row is None:
        return None
    judged = row["status"] == JUDGED and row["category"] in list(Category)
    return row if judged or (row["status"] == JUDGE_ERROR and row["category"] is None) else None
