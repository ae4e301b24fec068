"""The question about a failed answer, from `prompt_e2.md`, and the parser of replies.

The LMR-BENCH paper names five classes of errors (Section 5.3, Figure 7); the prompt defines them in
our words. An answer may show several; exactly one of them is the primary one, which counts in
shares that sum to 1. Unlike the judge, this model sees the tests' report. The candidate's text,
including its error messages, is made harmless like the judge's material
(`lmrbench_evaluate/judge/neutralise.py`).
"""

import re
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from lmrbench_data.base.proportions import PAPER
from lmrbench_data.base.text import cut, one_line, plural
from lmrbench_data.dataset.result_rows import CaseRow, ResultRow
from lmrbench_data.dataset.rows import DatasetRow
from lmrbench_evaluate.judge.material import gather
from lmrbench_evaluate.judge.neutralise import enclose
from lmrbench_evaluate.judge.opinion import PlainLine, Reply, read_reply
from lmrbench_evaluate.judge.question import Prompt, Question
from lmrbench_evaluate.predictions.prediction import Prediction
from lmrbench_evaluate.reports.answers import FailedCase, failed_cases

TEMPLATE = Path(__file__).resolve().parent / "prompt_e2.md"
SOURCES = ("candidate", "paper", "reference", "repository", "tests")
#: Limits on the part of the tests' report that is shown: cases, and characters of each detail.
MAX_CASES = 12
MAX_DETAIL = 400
#: A quote with fewer characters than this, blanks aside, would be found anywhere.
MIN_QUOTE = 6
#: One question per answer, so it is asked as reproducibly as the server allows.
TEMPERATURE = 0.0


# --- classes --------------------------------------------------------------------------------------


class ErrorClass(StrEnum):
    """A reason why an answer fails; the order is that of the paper's text."""

    PAPER_PARSING = "paper parsing"
    INCOMPLETE_COMPREHENSION = "incomplete comprehension"
    CODE_ROBUSTNESS = "code robustness"
    CROSS_FILE_RETRIEVAL = "cross-file retrieval"
    POLICY = "policy"


# --- the reply, as the model gives it and as errors.jsonl keeps it --------------------------------


class Evidence(BaseModel):
    """Evidence of an error of one class."""

    model_config = ConfigDict(frozen=True, populate_by_name=True)

    error: ErrorClass = Field(alias="class")
    quote: PlainLine
    source: Annotated[str, BeforeValidator(lambda value: value if value in SOURCES else "")] = ""
    """One of `SOURCES`; empty if the model named none."""
    explanation: PlainLine
    found: bool = False
    """True if the quote occurs in the model's material."""


class Diagnosis(Reply):
    """The model's diagnosis of a failed answer."""

    primary: ErrorClass
    errors: tuple[Evidence, ...] = Field(min_length=1, max_length=len(ErrorClass))
    """One for each class, in the model's order."""

    @model_validator(mode="after")
    def _check_classes(self) -> "Diagnosis":
        if len(self.classes) < len(self.errors):
            raise ValueError("a class is in it twice")
        if self.primary not in self.classes:
            raise ValueError('"primary" is none of the classes in "errors"')
        return self

    @property
    def classes(self) -> set[ErrorClass]:
        """All classes."""
        return {item.error for item in self.errors}

    @property
    def label(self) -> str:
        """The primary class."""
        return str(self.primary)


def _object(**properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(properties),
        "properties": {name: {"type": "string", **field} for name, field in properties.items()},
    }


_CLASSES = {"enum": [str(item) for item in ErrorClass]}
_EVIDENCE: dict[str, Any] = {
    "class": _CLASSES,
    "quote": {"description": "copied exactly from a block"},
    "source": {"enum": list(SOURCES)},
    "explanation": {"description": "one or two sentences"},
}
SCHEMA = _object(
    analysis={"description": "the work that leads to the rest"},
    errors={"type": "array", "items": _object(**_EVIDENCE)},
    primary=_CLASSES,
)


def parse_diagnosis(text: str, question: Question | None = None) -> Diagnosis:
    """Return the diagnosis in a reply.

    Args:
        question: with the material, in which quotes are looked up.

    Raises:
        UnreadableError: as `read_reply`.
    """
    diagnosis = read_reply(text, Diagnosis)
    material = _without_blanks(question.messages[-1]["content"]) if question else ""
    marked = []
    for error in diagnosis.errors:
        quote = _without_blanks(error.quote)
        is_found = len(quote) >= MIN_QUOTE and quote in material
        marked.append(error.model_copy(update={"found": is_found}))
    return diagnosis.model_copy(update={"errors": tuple(marked)})


def _without_blanks(text: str) -> str:
    return re.sub(r"\s+", "", text)


# --- the question ---------------------------------------------------------------------------------


PROMPT = Prompt("diagnosis", TEMPLATE, SCHEMA, parse_diagnosis, TEMPERATURE)


def build_question(row: DatasetRow, prediction: Prediction, result: ResultRow) -> Question:
    """Build the question why an answer failed; equal input gives equal messages, no code runs."""
    report = _test_report(result)
    material = gather(row, prediction, PROMPT.version, report)
    tests = enclose("WHAT THE TESTS REPORTED", report, material.code)
    return PROMPT.ask(material, tests=tests)


def _test_report(result: ResultRow) -> str:
    cases = _shown_cases(result)
    failed = failed_cases(cases)
    lines = [_case_line(case) for case in failed[:MAX_CASES]]
    more = len(failed) - MAX_CASES
    if not failed:
        lines.append(f"{result['status']}: {_cut_detail(result['detail'])}")
    if more > 0:
        lines.append(f"- and {plural(more, 'more case')}")
    passed = {case["name"] for case in cases}.difference(case.name for case in failed)
    lines.append(f"Passed: {', '.join(sorted(passed)) or 'no case'}.")
    return "\n".join(lines)


def _shown_cases(result: ResultRow) -> Sequence[CaseRow]:
    """Return the cases of the track: a model that saw no contract cannot have broken it."""
    if result["track"] == PAPER:
        return [case for case in result["cases"] if case["core"]]
    return result["cases"]


def _cut_detail(detail: str) -> str:
    return cut(one_line(detail), MAX_DETAIL)


def _case_line(case: FailedCase) -> str:
    kind = "core" if case.core else "contract"
    seeds = ", ".join(map(str, case.seeds))
    detail = _cut_detail(case.detail)
    return f"- {case.name} ({kind}, seeds {seeds}): {case.status}: {detail}"
