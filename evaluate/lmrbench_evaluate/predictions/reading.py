"""Read predictions: rows of any source, checked against the contract, or the words `gold` and `masked`.

A row without a known instance or a model never stops a run: it becomes a `BadRow` with its place and reason. Any other
row is an answer; an unusable one is a `Prediction` with a `problem`, and malformed.
"""

import itertools
import json
import logging
import reprlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
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


def read_predictions(
    source: Source, rows: Mapping[str, DatasetRow], dataset: str = ""
) -> Iterator[Prediction | BadRow]:
    """Yield the predictions of `source` in order, the first bad rows among them; the last one counts the others.

    A row without `sample` gets the next free number: several answers of one model to one instance are its samples.

    Args:
        source: a path (.jsonl, .json, .parquet), `org/name[@revision]` on the Hub, `gold` or `masked`; or an iterable
            of mappings, or a DataFrame.
        rows: the dataset's rows by instance id.
        dataset: its name, for messages.

    Raises:
        InputError: the source itself cannot be read, or, at the end, none of its columns holds answers.
    """
    check_source(source)
    if isinstance(source, str) and source in WORDS:
        for row in rows.values():
            yield own_answer(row, source)
        return
    seen: dict[AnswerKey, str] = {}
    free: Counter[AnswerKey] = Counter()
    theirs: dict[str, None] | None = {}  # columns, until a row has an answer
    bad = numbered = 0
    for place, raw in raw_rows(source):
        if theirs is not None and isinstance(raw, dict):
            theirs = None if raw.keys() & FORMS else theirs | dict.fromkeys(raw)
        item = raw if isinstance(raw, BadRow) else prediction_of(place, raw, rows.keys(), dataset)
        if isinstance(item, Prediction):
            if raw.get("sample") is None:
                key = item.key.row
                number = next(
                    n for n in itertools.count(free[key]) if key._replace(sample=n) not in seen
                )
                item, free[key] = replace(item, sample=number), number + 1
                numbered += number > 0
            first = seen.setdefault(item.key.row, place)
            if first != place:
                item = BadRow(
                    place, f"duplicate of {first} (same instance, model, setting, track and sample)"
                )
        bad += isinstance(item, BadRow)
        if bad <= MAX_BAD_ROWS or isinstance(item, Prediction):
            yield item
    if seen and theirs:
        raise InputError(
            f"predictions {source_name(source)!r}: no row has an answer; {wrong_columns(theirs)}"
        )
    if bad > MAX_BAD_ROWS:
        yield BadRow(source_name(source), f"{bad - MAX_BAD_ROWS} more rows cannot be evaluated")
    if numbered:
        message = f"{plural(numbered, 'row')} without `sample` counted as further samples of their instances"
        _log.warning("predictions %r: %s", source_name(source), message)


def wrong_columns(columns: Iterable[str], missing: str = "function") -> str:
    """Return what to do about rows with these columns, for a message."""
    return f"its columns are {join_names(list(columns), MAX_COLUMNS)}; rename one to {missing} (docs/predictions.md)"


def prediction_of(
    place: str, raw: Any, instances: Collection[str], dataset: str = ""
) -> Prediction | BadRow:
    """Return the prediction of a row, or what is wrong with it; place and dataset are for messages."""
    if not isinstance(raw, dict):
        return BadRow(place, f"a row must be a JSON object, not {_kind(raw)}")
    for name in (key for key in KEYS if key != "metadata"):
        value = raw.get(name)
        if value is not None and not isinstance(value, str | int | float | list | dict):
            return BadRow(
                place,
                f"{name} has the type {type(value).__name__} and cannot be read; write UTF-8 text",
            )
    instance_id, model = raw.get("instance_id"), raw.get("model_name_or_path")
    for name, value in (("instance_id", instance_id), ("model_name_or_path", model)):
        if value is None:
            return BadRow(place, f"missing key {name!r}")
        if (
            not isinstance(value, str)
            or not value.strip()
            or len(value) > MAX_NAME
            or not value.isprintable()
        ):
            return BadRow(place, f"{name} must be printable text of 1 to {MAX_NAME} characters")
    if instance_id not in instances:
        hint = (dataset and other_config(str(instance_id), dataset)) or did_you_mean(
            str(instance_id), instances
        )
        return BadRow(place, f"unknown instance {instance_id!r}{hint}")
    sample, setting, track, metadata = (
        raw.get(name) for name in ("sample", "setting", "track", "metadata")
    )
    # pandas reads a column of integers with a gap as floats.
    sample = int(sample) if isinstance(sample, float) and sample.is_integer() else sample
    if sample is not None and (type(sample) is not int or not 0 <= sample <= MAX_SAMPLE):
        return BadRow(
            place,
            f"sample must be a whole number from 0 to {MAX_SAMPLE}, not {reprlib.repr(sample)}",
        )
    if setting is not None and (
        not isinstance(setting, str) or len(setting) > MAX_NAME or not setting.isprintable()
    ):
        return BadRow(place, f"setting must be printable text of at most {MAX_NAME} characters")
    if track is not None and track not in (*TRACKS, UNSTATED):
        return BadRow(place, f"track must be {' or '.join(TRACKS)}, not {reprlib.repr(track)}")
    try:
        model, setting = (
            clean_name(str(model)),
            clean_name(setting) if setting and setting.strip() else "",
        )
    except ValueError as error:
        return BadRow(place, f"model_name_or_path or setting {error}")
    form, content, problem = _answer(raw)
    # As JSON, with times and the like as text.
    stored = json.dumps(metadata, default=str) if isinstance(metadata, dict) else "null"
    if len(stored) > MAX_METADATA:
        return BadRow(place, f"metadata is longer than {MAX_METADATA} characters")
    names = str(instance_id), model, form, content, sample or 0, setting, track or UNSTATED
    return Prediction(*names, json.loads(stored), problem)


def _answer(raw: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return form, content and problem of a row with an instance and a model.

    Any such row is the model's answer; an empty answer counts as malformed.
    """
    forms = [form for form in FORMS if raw.get(form) is not None]
    if len(forms) != 1:
        nulls = [form for form in FORMS if form in raw]
        if not forms and len(nulls) == 1:
            return nulls[0], "", f"{nulls[0]} is null"
        return (
            FORMS[0],
            "",
            f"exactly one of {', '.join(FORMS)} is needed, found {' and '.join(forms) or 'none'}",
        )
    [form], content = forms, raw[forms[0]]
    problem = ""
    if form == "files" and content != "":
        content, problem = _files(content)
        if problem:
            return form, "", problem
    if not isinstance(content, str):
        problem = f"{form} must be text, not {_kind(content)}"
    elif not content.strip():
        problem = (
            _stated_problem(raw) or f"{'the patch' if form == 'model_patch' else form} is empty"
        )
    elif form != "function":  # of a reply, only the code that is taken is checked
        try:
            content.encode("utf-8")
        except UnicodeEncodeError:
            problem = f"{form} contains a lone surrogate: not valid Unicode"
        problem = problem or too_large(form, content)
    return form, "" if problem else content, problem


def _stated_problem(raw: Mapping[str, Any]) -> str:
    """Return the problem that the harness or a client wrote into a row without an answer; empty if there is none."""
    metadata = raw.get("metadata")
    for facts in (raw, metadata if isinstance(metadata, dict) else {}):
        problem = facts.get("problem")
        if isinstance(problem, str) and problem.strip():
            return cut(one_line(problem), MAX_NAME)
    return ""


def _files(value: Any) -> tuple[str, str]:
    """Return the content of an object of files and its problem."""
    if isinstance(value, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in value):
        value = dict(value)  # a map of Parquet
    if isinstance(value, dict):  # a row of Parquet has the keys of all rows
        value = {key: text for key, text in value.items() if text is not None}
        if not value:
            return "", ""
    if not isinstance(value, dict) or not all(
        isinstance(text, str) for pair in value.items() for text in pair
    ):
        return "", f"files must be an object of texts, not {_kind(value)}"
    return object_text(value), ""


def _kind(value: Any) -> str:
    names = {
        "dict": "an object",
        "list": "a list",
        "str": "text",
        "bool": "true or false",
        "NoneType": "null",
    }
    return names.get(
        type(value).__name__, "a number" if isinstance(value, int | float) else type(value).__name__
    )
