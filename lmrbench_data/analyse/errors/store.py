"""errors.jsonl of a run folder: append-only, one row a question, with the diagnosis of one answer or why there is none.

A row with a diagnosis counts for its answer and model whatever else is there; `not_asked` is final, it is the answer's
own doing; an `error` is asked for again.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ...evaluate.judge.store import AnswerId, Judge, Spent, answer_id
from ...evaluate.runs.jsonl import Line, locked, parse_row, read_log, resume_log
from ...times import now
from .classes import Classes, ErrorClass
from .prompt import SOURCES, Diagnosis, Evidence

FILE = "errors.jsonl"
DIAGNOSED, NOT_ASKED, ERROR = "diagnosed", "not_asked", "error"
_RANK = (DIAGNOSED, NOT_ASKED, ERROR, None)
#: What each row has, and what that is.
_ROW: dict[str, Any] = {
    "instance_id": str,
    "prediction_sha256": str,
    "track": str,
    "judge_model": str,
    "base_url": str,
    "prompt_version": str,
    "status": str,
    "primary": (str, type(None)),
    "errors": list,
    "error": str,
    "reason": str,
    "input_tokens": int,
    "output_tokens": int,
    "counted": bool,
    "cost_usd": (int, float, type(None)),
    "cached": bool,
}
_ERROR: dict[str, Any] = {"class": str, "quote": str, "source": str, "explanation": str, "found": bool}


@dataclass(frozen=True)
class Outcome:
    """What came of one question; without a diagnosis it is an error, or has a reason why nobody can be asked."""

    diagnosis: Diagnosis | None = None
    found: tuple[bool, ...] = ()
    """Of each piece of evidence: whether its quote stands in what the model was shown."""
    error: str = ""
    reason: str = ""
    tokens: tuple[int, int] = (0, 0)
    counted: bool = True
    cost_usd: float | None = 0.0
    temperature: float | None = None
    duration_s: float = 0.0
    cached: bool = False
    asked_at: str = field(default_factory=now)

    @property
    def status(self) -> str:
        """One of `diagnosed`, `not_asked`, `error`."""
        return DIAGNOSED if self.diagnosis else NOT_ASKED if self.reason else ERROR


@dataclass(frozen=True)
class Diagnosed:
    """What the file says of an answer."""

    diagnosis: Diagnosis | None
    found: tuple[bool, ...] = ()
    reason: str = ""
    """Why nobody can be asked; empty if a question only failed."""


@dataclass
class ErrorFile:
    """An open errors.jsonl; use `ErrorFile.open` as a context manager."""

    statuses: dict[tuple[AnswerId, Judge], str] = field(default_factory=dict)
    spent: defaultdict[str, Spent] = field(default_factory=lambda: defaultdict(Spent))
    """By model."""
    _append: Callable[[dict[str, Any]], None] | None = None

    @classmethod
    @contextmanager
    def open(cls, run: Path) -> Iterator["ErrorFile"]:
        """Create or resume the file of a run; a last row that was cut short is removed.

        Raises:
            InputError: another process has it open, or the file is damaged.
        """
        path, busy = run / FILE, f"{run}: another process is analysing its errors; wait for it"
        with locked(run / ".errors.lock", busy), path.open("ab") as file:
            opened = cls()
            opened._append = resume_log(file, path, _lines(path), opened._count)
            yield opened

    def append(self, answer: AnswerId, asked: Judge, outcome: Outcome) -> None:
        """Write one row; it is on its way to the disk when this returns."""
        found = outcome.diagnosis
        row = {
            "instance_id": answer[0],
            "prediction_sha256": answer[1],
            "track": answer[2],
            "judge_model": asked.model,
            "base_url": asked.server,
            "prompt_version": asked.prompt_version,
            "status": outcome.status,
            "primary": str(found.classes.primary) if found else None,
            "errors": as_rows(found, outcome.found) if found else [],
            "error": outcome.error,
            "reason": outcome.reason,
            "temperature": outcome.temperature,
            "input_tokens": outcome.tokens[0],
            "output_tokens": outcome.tokens[1],
            "counted": outcome.counted,
            "cost_usd": outcome.cost_usd if outcome.counted else None,
            "duration_s": round(outcome.duration_s, 3),
            "asked_at": outcome.asked_at,
            "cached": outcome.cached,
        }
        assert self._append is not None
        self._append(row)

    def _count(self, row: Mapping[str, Any]) -> None:
        key = answer_id(row), _asked(row)
        self.statuses[key] = min(self.statuses.get(key), row["status"], key=_RANK.index)
        self.spent[row["judge_model"]].add(dict(row))


def read_diagnoses(run: Path, model: str | None = None) -> tuple[Judge | None, dict[AnswerId, Diagnosed]]:
    """Who was asked about a run's failed answers, and what came of it by answer; (None, {}) if nobody was.

    Args:
        model: whose diagnoses; by default the model, prompt and server that were asked last. They never mix.

    Raises:
        InputError: a damaged file.
    """
    rows = [line.row for line in _lines(run / FILE)]
    known = list(dict.fromkeys(_asked(row) for row in reversed(rows)))
    chosen = next((item for item in known if model in (None, item.model)), None)
    best: dict[AnswerId, Mapping[str, Any]] = {}
    for row in rows:
        if _asked(row) == chosen:
            before = best.setdefault(answer_id(row), row)
            if _RANK.index(row["status"]) < _RANK.index(before["status"]):
                best[answer_id(row)] = row
    return chosen, {answer: _diagnosed(row) for answer, row in best.items()}


def as_rows(diagnosis: Diagnosis, found: tuple[bool, ...]) -> list[dict[str, Any]]:
    """The errors of a diagnosis, fit for JSON."""
    rows = []
    for item, is_there in zip(diagnosis.evidence, found, strict=True):
        values = asdict(item)
        rows.append({"class": str(values.pop("error")), **values, "found": is_there})
    return rows


def from_rows(primary: str, errors: list[Any]) -> tuple[Diagnosis, tuple[bool, ...]]:
    """What `as_rows` wrote.

    Raises:
        ValueError, LookupError, TypeError: it is something else.
    """
    evidence = tuple(
        Evidence(ErrorClass(item["class"]), item["quote"], item["source"], item["explanation"]) for item in errors
    )
    classes = Classes(ErrorClass(primary), frozenset(item.error for item in evidence))
    if classes.primary not in classes.all or len(classes.all) != len(evidence):
        raise ValueError
    return Diagnosis(classes, evidence), tuple(item["found"] is True for item in errors)


def _diagnosed(row: Mapping[str, Any]) -> Diagnosed:
    if row["status"] != DIAGNOSED:
        return Diagnosed(None, reason=row["reason"])
    return Diagnosed(*from_rows(row["primary"], row["errors"]))


def _asked(row: Mapping[str, Any]) -> Judge:
    return Judge(row["judge_model"], row["prompt_version"], row["base_url"])


def _lines(path: Path) -> Iterator[Line]:
    return read_log(path, _parse, "remove that line, or move the file away to ask again")


def _parse(line: bytes) -> dict[str, Any] | None:
    """A row of the file, None for anything else."""
    row = parse_row(line, _ROW)
    if row is None or row["status"] not in (DIAGNOSED, NOT_ASKED, ERROR):
        return None
    if row["status"] != DIAGNOSED:
        return row if not row["errors"] and row["primary"] is None else None
    if not all(isinstance(item, dict) and _is_error(item) for item in row["errors"]):
        return None
    try:
        from_rows(row["primary"], row["errors"])
    except (ValueError, LookupError, TypeError):
        return None
    return row


def _is_error(item: Mapping[str, Any]) -> bool:
    """Whether an object has the keys of an error, and of a kind that they may have."""
    known = all(isinstance(item.get(name), kind) for name, kind in _ERROR.items())
    return known and item["source"] in ("", *SOURCES)
