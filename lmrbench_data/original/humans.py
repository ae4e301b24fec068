"""Read the original's human labels: one list per person; scales may start at 0 instead of 1."""

from typing import Any, NamedTuple

from lmrbench_evaluate.judge.category import Category
from lmrbench_evaluate.reports.annotations import MAX_NAME

from .clone import SETTINGS, UnreadableFile
from .judgements import SCALE

_TOP = max(SCALE)


class HumanLabel(NamedTuple):
    """One person's label of one answer."""

    annotator: str
    """In lower case: one of the files spells its own name in two ways."""
    setting: str
    model: str
    paper: int
    function_index: int
    category: Category
    comment: str


class HumanLabels(NamedTuple):
    """The labels in a file."""

    labels: list[HumanLabel]
    problems: list[str]
    shifted: bool
    """True if its scale was 0 to 2."""


def read_human_labels(value: Any) -> HumanLabels:
    """The labels of one file.

    The scale is 1 incorrect logic, 2 logic correct, 3 completely correct. A file whose smallest label is 0 counts from
    0 and is shifted by one; other files are not, so a corrected file is not shifted twice.

    Raises:
        UnreadableFile: not a list of records, or a file whose labels run from 0 to 3: no scale has four steps.
    """
    if not isinstance(value, list):
        raise UnreadableFile("not a list of records")
    problems: list[str] = []
    records = []
    for number, record in enumerate(value):
        if reason := _wrong(record):
            problems.append(f"record {number}: {reason}; left out")
        else:
            records.append((number, record))
    scores = [record["human_judge_result"] for _, record in records]
    shift = 1 if scores and min(scores) == 0 else 0
    if scores and max(scores) + shift > _TOP:
        raise UnreadableFile(f"labels from {min(scores)} to {max(scores)}: not a scale of three; the file is left out")
    found: dict[tuple[Any, ...], tuple[int, HumanLabel | None]] = {}
    for number, record in records:
        label = HumanLabel(
            record["annotator"].strip().lower(),
            record["agent_type"],
            record["model_name"].strip(),
            record["paper_index"],
            record["function_index"],
            SCALE[record["human_judge_result"] + shift],
            record.get("comment") or "",
        )
        first, other = found.setdefault(label[:5], (number, label))
        if first != number and (other is None or other.category is not label.category):
            problems.append(f"records {first} and {number} contradict each other; both left out")
            found[label[:5]] = first, None
        elif first != number:
            problems.append(f"record {number} says the same as {first}; it counts once")
    return HumanLabels([label for _, label in found.values() if label], problems, bool(shift))


def _wrong(record: Any) -> str:
    """The fault of a record; empty if it has none."""
    if not isinstance(record, dict):
        return "not an object"
    for name in ("annotator", "agent_type", "model_name"):
        value = record.get(name)
        if not isinstance(value, str) or not value.strip() or len(value) > MAX_NAME:
            return f"{name} is not a text of 1 to {MAX_NAME} characters"
    if record["agent_type"] not in SETTINGS.values():
        return f"agent_type is none of {', '.join(SETTINGS.values())}"
    for name, least in (("paper_index", 1), ("function_index", 0), ("human_judge_result", 0)):
        if type(record.get(name)) is not int or record[name] < least:
            return f"{name} is not a whole number of at least {least}"
    if record["human_judge_result"] > _TOP:
        return f"human_judge_result is {record['human_judge_result']}, beyond {_TOP}"
    return "" if isinstance(record.get("comment", ""), str | None) else "comment is not a text"
