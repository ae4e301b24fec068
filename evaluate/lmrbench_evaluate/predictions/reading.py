"""Read predictions: checked rows of any source, or the words `gold` and `masked`.

A row without a known instance or a model never stops a run: it becomes a `BadRow` with its place
and reason. Any other row is an answer; an unusable one is a `Prediction` with a `problem`, and
malformed.
"""

import json
import logging
import reprlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any

from lmrbench_data.base.errors import InputError
from lmrbench_data.base.names import MAX_NAME, clean_name
from lmrbench_data.base.proportions import TRACKS
from lmrbench_data.base.suggestions import did_you_mean
from lmrbench_data.base.text import cut, join_names, one_line, plural
from lmrbench_data.dataset.load import other_config
from lmrbench_data.dataset.result_rows import PredictionRow
from lmrbench_data.dataset.rows import DatasetRow

from .prediction import FORMS, UNSTATED, AnswerKey, Prediction, object_text, own_answer, too_large
from .sources import WORDS, BadRow, Source, check_source, raw_rows, source_name

KEYS = tuple(PredictionRow.__annotations__)
MAX_SAMPLE = 1_000_000
#: Largest metadata of a row as JSON; with the largest answer they fit into a line of a `Ledger`.
MAX_METADATA = 2_000_000
#: Number of bad rows of a source that are kept; the others are counted.
MAX_BAD_ROWS = 1000
NEEDED = f"a prediction needs instance_id, model_name_or_path and one of {', '.join(FORMS)}"
#: Largest number of columns in a message.
MAX_COLUMNS = 12
_log = logging.getLogger(__name__)


class _UnusableError(ValueError):
    """A row cannot be evaluated, or its answer cannot be used; the message says why."""


def read_predictions(
    source: Source, rows: Mapping[str, DatasetRow], dataset: str = ""
) -> Iterator[Prediction | BadRow]:
    """Yield the predictions of `source` in order, and its first bad rows; the last counts the rest.

    A row without `sample` gets the next free number: several answers of one model to one instance
    are its samples.

    Args:
        source: a path (.jsonl, .json, .parquet), `org/name[@revision]` on the Hub, `gold` or
            `masked`; or an iterable of mappings, or a DataFrame.
        rows: the dataset's rows by instance id.
        dataset: its name, for messages.

    Raises:
        InputError: the source itself cannot be read, or, at the end, none of its columns holds
            answers.
    """
    check_source(source)
    if isinstance(source, str) and source in WORDS:
        for row in rows.values():
            yield own_answer(row, source)
    else:
        yield from _read_rows(source, rows.keys(), dataset)


def _read_rows(
    source: Source, instances: Collection[str], dataset: str
) -> Iterator[Prediction | BadRow]:
    name = source_name(source)
    samples = _Samples()
    columns: dict[str, None] = {}
    bad_rows = 0
    for place, raw in raw_rows(source):
        if isinstance(raw, dict):
            columns |= dict.fromkeys(raw)
        item = prediction_of(place, raw, instances, dataset)
        if isinstance(item, Prediction):
            item = samples.add(place, item, is_numbered=raw.get("sample") is not None)
        if isinstance(item, BadRow):
            bad_rows += 1
        if bad_rows <= MAX_BAD_ROWS or isinstance(item, Prediction):
            yield item
    if samples.places and columns.keys().isdisjoint(FORMS):
        raise InputError(f"predictions {name!r}: no row has an answer; {wrong_columns(columns)}")
    if bad_rows > MAX_BAD_ROWS:
        yield BadRow(name, f"{bad_rows - MAX_BAD_ROWS} more rows cannot be evaluated")
    samples.warn_of_further(name)


class _Samples:
    """The answers so far: numbers those without a sample and refuses duplicates."""

    def __init__(self) -> None:
        self.places: dict[AnswerKey, str] = {}
        self.further = 0
        """Answers without `sample` that were not the first of their instance."""
        self._free: Counter[AnswerKey] = Counter()

    def add(self, place: str, prediction: Prediction, is_numbered: bool) -> Prediction | BadRow:
        """Return a prediction with its sample, or the reason why it does not count."""
        key = prediction.key.row
        if not is_numbered:
            prediction = replace(prediction, sample=self._next(key))
            key = prediction.key.row
        first = self.places.setdefault(key, place)
        if first != place:
            same = "same instance, model, setting, track and sample"
            return BadRow(place, f"duplicate of {first} ({same})")
        return prediction

    def warn_of_further(self, name: str) -> None:
        """Warn that answers of a source were numbered, if they were."""
        if self.further:
            count = f"{plural(self.further, 'row')} without `sample`"
            _log.warning(
                "predictions %r: %s counted as further samples of their instances", name, count
            )

    def _next(self, key: AnswerKey) -> int:
        number = self._free[key]
        while key._replace(sample=number) in self.places:
            number += 1
        self._free[key] = number + 1
        if number:
            self.further += 1
        return number


def wrong_columns(columns: Iterable[str], missing: str = "function") -> str:
    """Return what to do about rows with these columns, for a message."""
    names = join_names(list(columns), MAX_COLUMNS)
    if not names:
        return NEEDED
    return f"its columns are {names}; rename one to {missing} (docs/predictions.md)"


def wrong_object(keys: Iterable[str]) -> str:
    """Return what to do about a file whose only object has no instance, for a message."""
    names = join_names(list(keys), MAX_COLUMNS) or "none"
    shapes = "a row with instance_id, a list of rows, or, in .json, an object of rows by instance"
    return f"the keys of its only object are {names}; expected {shapes} (docs/predictions.md)"


def prediction_of(
    place: str, raw: Any, instances: Collection[str], dataset: str = ""
) -> Prediction | BadRow:
    """Return the prediction of a row, or what is wrong with it; messages name place and dataset."""
    if isinstance(raw, BadRow):
        return raw
    try:
        return _prediction(raw, instances, dataset)
    except _UnusableError as problem:
        return BadRow(place, str(problem))


def _prediction(raw: Any, instances: Collection[str], dataset: str) -> Prediction:
    if not isinstance(raw, dict):
        raise _UnusableError(f"a row must be a JSON object, not {_kind(raw)}")
    row = {key: raw[key] for key in KEYS if raw.get(key) is not None}
    _check_types(row)
    instance_id = _line(row, "instance_id", 1)
    model = _line(row, "model_name_or_path", 1)
    _check_instance(instance_id, instances, dataset)
    sample = _sample(row.get("sample", 0))
    setting = _line(row, "setting", 0)
    track = _track(row.get("track", UNSTATED))
    try:
        model = clean_name(model)
        setting = clean_name(setting) if setting.strip() else ""
    except ValueError as error:
        raise _UnusableError(f"model_name_or_path or setting {error}") from None
    form, content, problem = _answer(raw)
    return Prediction(
        instance_id=instance_id,
        model=model,
        form=form,
        content=content,
        sample=sample,
        setting=setting,
        track=track,
        metadata=_metadata(row),
        problem=problem,
    )


def _check_types(row: Mapping[str, Any]) -> None:
    for key, value in row.items():
        is_number = key == "sample" and isinstance(value, Decimal)
        is_known = is_number or isinstance(value, str | int | float | list | dict)
        if key != "metadata" and not is_known:
            problem = f"has the type {type(value).__name__} and cannot be read"
            raise _UnusableError(f"{key} {problem}; write UTF-8 text")


def _check_instance(instance_id: str, instances: Collection[str], dataset: str) -> None:
    if instance_id not in instances:
        hint = other_config(instance_id, dataset) if dataset else ""
        hint = hint or did_you_mean(instance_id, instances)
        raise _UnusableError(f"unknown instance {instance_id!r}{hint}")


def _track(track: Any) -> Any:
    if track not in (*TRACKS, UNSTATED):
        raise _UnusableError(f"track must be {' or '.join(TRACKS)}, not {reprlib.repr(track)}")
    return track


def _line(row: Mapping[str, Any], key: str, least: int) -> str:
    """Return a short printable text."""
    if least and key not in row:
        raise _UnusableError(f"missing key {key!r}")
    text = row.get(key, "")
    is_line = isinstance(text, str) and text.isprintable() and len(text) <= MAX_NAME
    if not is_line or len(text.strip()) < least:
        size = f"{least} to" if least else "at most"
        raise _UnusableError(f"{key} must be printable text of {size} {MAX_NAME} characters")
    return str(text)


def _sample(sample: Any) -> int:
    if isinstance(sample, float) and sample.is_integer():
        return _sample(int(sample))  # pandas reads a column of integers with a gap as floats
    if isinstance(sample, Decimal) and sample.is_finite() and 0 <= sample <= MAX_SAMPLE:
        whole = int(sample)  # DuckDB and Arrow have columns of such numbers
        if sample == whole:
            return whole
    if type(sample) is int and 0 <= sample <= MAX_SAMPLE:
        return sample
    shown = reprlib.repr(sample)
    raise _UnusableError(f"sample must be a whole number from 0 to {MAX_SAMPLE}, not {shown}")


def _metadata(row: Mapping[str, Any]) -> Any:
    """Return the metadata as JSON has it, with times and the like as text."""
    metadata = row.get("metadata")
    text = json.dumps(metadata, default=str) if isinstance(metadata, dict) else "null"
    if len(text) > MAX_METADATA:
        raise _UnusableError(f"metadata is longer than {MAX_METADATA} characters")
    return json.loads(text)


def _answer(raw: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return form, content and problem of a row with an instance and a model.

    Any such row is the model's answer; an empty answer counts as malformed.
    """
    forms = [form for form in FORMS if raw.get(form) is not None]
    if len(forms) == 1:
        [form] = forms
        try:
            return form, _content(form, raw), ""
        except _UnusableError as problem:
            return form, "", str(problem)
    nulls = [form for form in FORMS if form in raw]
    if not forms and len(nulls) == 1:
        return nulls[0], "", f"{nulls[0]} is null"
    count = " and ".join(forms) or "none"
    return FORMS[0], "", f"exactly one of {', '.join(FORMS)} is needed, found {count}"


def _content(form: str, raw: Mapping[str, Any]) -> str:
    """Return an answer as text."""
    content = raw[form]
    if form == "files" and content != "":
        content = _files(content)
    if not isinstance(content, str):
        raise _UnusableError(f"{form} must be text, not {_kind(content)}")
    if not content.strip():
        name = "the patch" if form == "model_patch" else form
        raise _UnusableError(_stated_problem(raw) or f"{name} is empty")
    if form == "function":  # of a reply, only the code that is taken is checked
        return content
    try:
        content.encode("utf-8")
    except UnicodeEncodeError:
        raise _UnusableError(f"{form} contains a lone surrogate: not valid Unicode") from None
    problem = too_large(form, content)
    if problem:
        raise _UnusableError(problem)
    return content


def _stated_problem(raw: Mapping[str, Any]) -> str:
    """Return the problem that a row without an answer states; empty if there is none."""
    metadata = raw.get("metadata")
    for facts in (raw, metadata):
        problem = facts.get("problem") if isinstance(facts, dict) else None
        if isinstance(problem, str) and problem.strip():
            return cut(one_line(problem), MAX_NAME)
    return ""


def _files(value: Any) -> str:
    """Return an object of files as text; empty if it has none."""
    if isinstance(value, list) and all(map(_is_pair, value)):
        value = dict(value)  # a map of Parquet
    if not isinstance(value, dict):
        raise _UnusableError(f"files must be an object of texts, not {_kind(value)}")
    # A row of Parquet has the keys of all rows.
    files = {name: text for name, text in value.items() if text is not None}
    for name, text in files.items():
        if not isinstance(text, str):
            shown = cut(name, MAX_NAME)
            raise _UnusableError(f"files[{shown!r}] must be text, not {_kind(text)}")
    return object_text(files) if files else ""


def _is_pair(value: Any) -> bool:
    """Return whether a value is a path and a content."""
    return isinstance(value, list) and len(value) == 2 and isinstance(value[0], str)


_KINDS = {
    "dict": "an object",
    "list": "a list",
    "str": "text",
    "bool": "true or false",
    "int": "a number",
    "float": "a number",
    "NoneType": "null",
}


def _kind(value: Any) -> str:
    """Return the name of a value's type in JSON."""
    name = type(value).__name__
    return _KINDS.get(name, name)
