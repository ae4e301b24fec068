"""errors.jsonl of a run folder: append-only, one row per question: the diagnosis of an answer or why it has none.

A row with a diagnosis takes precedence over all others of its answer and model. `not_asked` is final: the answer itself
is the cause. An `error` is asked again.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

from lmrbench_evaluate.judge.question_log import AnswerId, Judge, QuestionLog, QuestionOutcome, answer_id

from .classes import Classes, ErrorClass
from .diagnosis import SOURCES, Diagnosis, Evidence

FILE = "errors.jsonl"
DIAGNOSED, NOT_ASKED, ERROR = "diagnosed", "not_asked", "error"
_ERROR: dict[str, Any] = {"class": str, "quote": str, "source": str, "explanation": str, "found": bool}


@dataclass(frozen=True)
class Diagnosed:
    """The diagnosis of an answer, or why it has none."""

    diagnosis: Diagnosis | None
    reason: str = ""
    """The reason why no model can be asked; empty if a question only failed."""


class DiagnosisLog(QuestionLog):
    """An open errors.jsonl; use `DiagnosisLog.open` as a context manager."""

    FIX = "remove that line, or move the file away to ask again"
    STATUSES = DIAGNOSED, NOT_ASKED, ERROR
    ROW: ClassVar = {
        **dict.fromkeys(("track", "base_url", "reason"), str),
        "primary": (str, type(None)),
        "errors": list,
        **dict.fromkeys(("counted", "cached"), bool),
    }

    def append(self, answer: AnswerId, asked: Judge, outcome: QuestionOutcome[Diagnosis]) -> None:
        """Write one row."""
        found = outcome.opinion
        self.add(
            answer,
            asked,
            outcome,
            primary=str(found.classes.primary) if found else None,
            errors=as_rows(found) if found else [],
            asked_at=outcome.asked_at,
        )

    @classmethod
    def key(cls, row: Mapping[str, Any]) -> tuple[AnswerId, Judge]:
        """Return the answer that a row is about, and the model that was asked."""
        return answer_id(row), Judge.of(row)

    @classmethod
    def parse(cls, line: bytes) -> dict[str, Any] | None:
        """Read a line; None if it is not a row of this file."""
        row = cls.parse_keys(line)
        if row is None or row["status"] not in cls.STATUSES:
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


def read_diagnoses(run: Path, model: str | None = None) -> tuple[Judge | None, dict[AnswerId, Diagnosed]]:
    """Return the model that was asked about a run's failed answers and its diagnoses by answer; (None, {}) if none was.

    Args:
        model: the model whose diagnoses to read; by default the model, prompt and server that were asked last.
            Diagnoses of two never mix.

    Raises:
        InputError: the file is damaged.
    """
    rows = list(DiagnosisLog.read(run / FILE))
    known = dict.fromkeys(map(Judge.of, reversed(rows)))
    chosen = next((item for item in known if model in (None, item.model)), None)
    best: dict[AnswerId, Mapping[str, Any]] = {}
    for row in rows:
        if Judge.of(row) == chosen:
            best[answer_id(row)] = min(best.get(answer_id(row), row), row, key=DiagnosisLog.rank)
    return chosen, {answer: _diagnosed(row) for answer, row in best.items()}


def as_rows(diagnosis: Diagnosis) -> list[dict[str, Any]]:
    """Convert the errors of a diagnosis for JSON."""
    rows = map(asdict, diagnosis.evidence)
    return [{"class": str(row.pop("error")), **row} for row in rows]


def from_rows(primary: str, errors: list[Any]) -> Diagnosis:
    """Read what `as_rows` made.

    Raises:
        ValueError, LookupError, TypeError: it is something else.
    """
    evidence = tuple(
        Evidence(ErrorClass(item["class"]), item["quote"], item["source"], item["explanation"], item["found"] is True)
        for item in errors
    )
    classes = Classes(ErrorClass(primary), frozenset(item.error for item in evidence))
    if classes.primary not in classes.all or len(classes.all) != len(evidence):
        raise ValueError
    return Diagnosis(classes, evidence)


def _diagnosed(row: Mapping[str, Any]) -> Diagnosed:
    if row["status"] != DIAGNOSED:
        return Diagnosed(None, row["reason"])
    return Diagnosed(from_rows(row["primary"], row["errors"]))


def _is_error(item: Mapping[str, Any]) -> bool:
    """Return whether an object has the keys of an error with values of the right types."""
    known = all(isinstance(item.get(name), kind) for name, kind in _ERROR.items())
    return known and item["source"] in ("", *SOURCES)
