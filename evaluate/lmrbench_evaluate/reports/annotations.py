"""Read people's labels of answers from CSV or JSONL: annotator, instance, model, category, comment.

A bad row never stops the reading: it is returned with its place and reason.
"""

import csv
import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, StringConstraints, ValidationError
from pydantic.dataclasses import dataclass

from lmrbench_data.base.errors import InputError
from lmrbench_data.base.proportions import Track

from ..judge.opinion import Category
from ..predictions.prediction import AnswerKey
from ..predictions.sources import BadRow, raw_rows

#: Other names of columns.
_ALIASES = {"instance": "instance_id", "model_name_or_path": "model"}
Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]


#: Read by its letters, never by a number: scales start at different ends.
Label = Annotated[Category, BeforeValidator(lambda text: str(text).strip().upper())]


@dataclass(frozen=True)
class Annotation:
    """One person's label for one answer."""

    annotator: Name
    instance_id: Name
    model: Name
    category: Label
    setting: str = ""
    track: Literal["", Track, "unstated"] = ""
    sample: Annotated[int, Field(ge=0)] = 0
    comment: str = ""

    @property
    def answer(self) -> AnswerKey:
        """The key of its answer."""
        return AnswerKey(self.instance_id, self.model, self.setting, self.track, self.sample)


def read_annotations(path: Path) -> tuple[list[Annotation], list[BadRow]]:
    """Read the annotations of a file; invalid rows are returned apart.

    Columns: annotator, instance_id (or instance), model_name_or_path (or model), category;
    optional: setting, track, sample, comment. Categories: CC, LC, LI, in any case.
    """
    good: list[Annotation] = []
    bad: list[BadRow] = []
    places: dict[tuple[str, AnswerKey], str] = {}
    for place, value in _raw_rows(path):
        item = _check_unique(place, _check(place, value), places)
        if isinstance(item, Annotation):
            good.append(item)
        else:
            bad.append(item)
    return good, bad


def _check_unique(
    place: str, item: Annotation | BadRow, places: dict[tuple[str, AnswerKey], str]
) -> Annotation | BadRow:
    """Refuse the second label of an annotator for an answer; add a first one to `places`."""
    if isinstance(item, BadRow):
        return item
    first = places.setdefault((item.annotator, item.answer), place)
    if first == place:
        return item
    return BadRow(place, f"duplicate of {first} (same annotator and answer)")


def _raw_rows(path: Path) -> list[tuple[str, Any]]:
    """Return the rows of a file with their places."""
    if path.suffix not in (".csv", ".jsonl"):
        raise InputError(f"annotations {path}: must be a .csv or .jsonl file")
    try:
        return list(_csv_rows(path) if path.suffix == ".csv" else raw_rows(str(path)))
    except OSError as error:
        raise InputError(f"annotations {path}: {error.strerror}") from error


def _csv_rows(path: Path) -> Iterator[tuple[str, Any]]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"annotations {path}: not UTF-8 (byte {error.start}); save it as CSV in UTF-8"
        ) from error
    reader = csv.DictReader(io.StringIO(text, newline=""), restkey="", strict=True)
    try:
        for row in reader:
            yield f"{path}:{reader.line_num}", row
    except csv.Error as error:
        raise InputError(f"annotations {path}:{reader.line_num}: not CSV: {error}") from error


def _check(place: str, raw: Any) -> Annotation | BadRow:
    if isinstance(raw, BadRow):
        return raw
    if not isinstance(raw, Mapping):
        return BadRow(place, "not an object")
    if "" in raw:
        return BadRow(place, "more cells than the header has")
    try:
        return Annotation(**_fields(raw))
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        return BadRow(place, f"{problem['loc'][-1]}: {problem['msg']}")


def _fields(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that a row has, by the names of their fields."""
    fields = {}
    for column, value in row.items():
        name = str(column).strip().lower()
        if value not in (None, ""):
            fields[_ALIASES.get(name, name)] = value
    return fields
