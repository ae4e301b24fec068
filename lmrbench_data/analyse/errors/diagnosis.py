"""The question about a failed answer, from the template `prompt_e1.md`, and the parser of the model's reply.

Unlike the judge, this model sees the tests' report. The candidate's text, including its error messages, is made
harmless like the judge's material (`lmrbench_evaluate/judge/neutralise.py`).
"""

import functools
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmrbench_evaluate.judge.client import Form
from lmrbench_evaluate.judge.material import gather
from lmrbench_evaluate.judge.neutralise import enclose
from lmrbench_evaluate.judge.parse import MAX_REPLY, Unreadable, mend_escapes, plain, without_thoughts
from lmrbench_evaluate.judge.question import Question, ask, template_sections, version_of
from lmrbench_evaluate.predictions.prediction import Prediction
from lmrbench_evaluate.reports.answer_pages import failed_cases

from ...base.text import one_line
from ...chat.client import Message
from ...dataset.rows import TRACKS, DatasetRow, ResultRow
from .classes import Classes, ErrorClass, read_class

TEMPLATE = Path(__file__).resolve().parent / "prompt_e1.md"
SOURCES = ("candidate", "paper", "reference", "repository", "tests")
#: Limits on the part of the tests' report that is shown: cases, and characters of each detail.
MAX_CASES = 12
MAX_DETAIL = 400
#: A quote with fewer characters than this, blanks aside, would be found anywhere.
MIN_QUOTE = 6
_ERROR_KEYS = ("class", "quote", "source", "explanation")

SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["analysis", "errors", "primary"],
    "properties": {
        "analysis": {"type": "string", "description": "the work that leads to the rest"},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": list(_ERROR_KEYS),
                "properties": {
                    "class": {"type": "string", "enum": [str(item) for item in ErrorClass]},
                    "quote": {"type": "string", "description": "copied exactly from a block"},
                    "source": {"type": "string", "enum": list(SOURCES)},
                    "explanation": {"type": "string", "description": "one or two sentences"},
                },
            },
        },
        "primary": {"type": "string", "enum": [str(item) for item in ErrorClass]},
    },
}


@dataclass(frozen=True)
class Evidence:
    """Evidence of an error of one class; all texts are plain lines."""

    error: ErrorClass
    quote: str
    source: str
    """One of `SOURCES`; empty if the model named none."""
    explanation: str
    found: bool = False
    """True if the quote occurs in the model's material."""


@dataclass(frozen=True)
class Diagnosis:
    """The model's diagnosis of a failed answer."""

    classes: Classes
    evidence: tuple[Evidence, ...]
    """One for each class, in the model's order."""


@functools.cache
def prompt_version() -> str:
    """`e1-` and a hash of the template and the schema."""
    return version_of(TEMPLATE, SCHEMA)


def build_question(row: DatasetRow, prediction: Prediction, result: ResultRow) -> Question:
    """Build the question why an answer failed; equal input gives equal messages. No code is executed.

    Args:
        row: of the dataset.
        result: of the answer.

    Raises:
        MalformedAnswerError: there is no candidate function.
        NotJudgedError: it is too long, or cannot be freed of remarks.
    """
    said = _tests_said(result)
    material = gather(row, prediction, prompt_version(), said)
    tests = enclose("WHAT THE TESTS REPORTED", said, material.code)
    return ask(TEMPLATE, material, tests=tests)


def is_quoted(quote: str, question: Question) -> bool:
    """Return whether a quote occurs in the model's material, line breaks aside."""
    wanted = _squeezed(quote)
    return len(wanted) >= MIN_QUOTE and wanted in _squeezed(question.messages[-1]["content"])


def _tests_said(result: ResultRow) -> str:
    # A model that saw no contract cannot have broken it.
    cases = [case for case in result["cases"] if case["core"] or result["track"] != TRACKS[0]]
    failed = failed_cases(cases)
    lines = [
        f"- {case.name} ({'core' if case.core else 'contract'}, seeds {', '.join(map(str, case.seeds))}): "
        f"{case.status}: {_cut(one_line(case.detail))}"
        for case in failed[:MAX_CASES]
    ]
    if len(failed) > MAX_CASES:
        lines.append(f"- and {len(failed) - MAX_CASES} more cases")
    passed = {case["name"] for case in cases} - {case.name for case in failed}
    lines.append(f"Passed: {', '.join(sorted(passed)) or 'no case'}.")
    if not failed:
        lines.insert(0, f"{result['status']}: {_cut(one_line(result['detail']))}")
    return "\n".join(lines)


def _cut(text: str) -> str:
    return text if len(text) <= MAX_DETAIL else f"{text[:MAX_DETAIL]}..."


def parse_diagnosis(text: str) -> Diagnosis:
    """Return the diagnosis in an answer: tolerant in form, strict in meaning.

    Raises:
        Unreadable: none, two different ones, or one with an unknown class, a class twice or without evidence.
    """
    if len(text) > MAX_REPLY:
        raise Unreadable("it is too long")
    text = without_thoughts(text, lambda part: any(True for _ in _objects(part)))
    found = list(_objects(text)) or list(_objects(mend_escapes(text)))
    if not found:
        raise Unreadable('there is no JSON object with "errors" in it')
    read = [_diagnosis(item) for item in found]
    if any(other != read[0] for other in read):
        raise Unreadable("it holds two different answers")
    return read[0]


def _objects(text: str) -> Iterator[Mapping[str, Any]]:
    """The JSON objects in a text that have errors, none of them inside another."""
    decoder, start = json.JSONDecoder(strict=False), text.find("{")
    while start >= 0:
        try:
            value, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            end = start + 1
        else:
            if isinstance(value, dict) and "errors" in value:
                yield value
        start = text.find("{", end)


def _diagnosis(item: Mapping[str, Any]) -> Diagnosis:
    errors = item["errors"]
    if not isinstance(errors, list) or not 1 <= len(errors) <= len(ErrorClass):
        raise Unreadable('"errors" is not a list of one to five objects')
    evidence = tuple(map(_evidence, errors))
    classes = frozenset(one.error for one in evidence)
    if len(classes) < len(evidence):
        raise Unreadable("a class is in it twice")
    primary = item.get("primary")
    named = read_class(primary) if isinstance(primary, str) else None
    if named is None and len(evidence) == 1:
        named = evidence[0].error
    if named not in classes:
        raise Unreadable('"primary" is none of the classes in "errors"')
    return Diagnosis(Classes(named, classes), evidence)


def _evidence(item: Any) -> Evidence:
    texts = {name: item.get(name) if isinstance(item, dict) else None for name in _ERROR_KEYS}
    named = read_class(texts["class"]) if isinstance(texts["class"], str) else None
    if named is None:
        raise Unreadable('an object in "errors" has none of the five classes')
    quote, explanation = (
        plain(text) if isinstance(text, str) else "" for text in (texts["quote"], texts["explanation"])
    )
    if not quote or not explanation:
        raise Unreadable(f'the error of class "{named}" has no quote or no explanation')
    return Evidence(named, quote, texts["source"] if texts["source"] in SOURCES else "", explanation)


def _repair(reason: str) -> Message:
    return {"role": "user", "content": template_sections(TEMPLATE)["repair"].render(reason=reason)}


def _squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text)


DIAGNOSIS: Form[Diagnosis] = Form("diagnosis", SCHEMA, parse_diagnosis, _repair)
