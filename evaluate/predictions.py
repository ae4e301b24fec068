"""Read prediction rows: JSONL, JSON (SWE-bench's forms too), Parquet, a Hub dataset, or the words `gold` and `masked`.

A bad row never stops a run: it comes out as a `BadRow` with its place and reason, and the good ones go on.
"""

import difflib
import hashlib
import io
import json
import re
import reprlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmrbench_data.errors import InputError
from lmrbench_data.loader import read_archive

WORDS = ("gold", "masked")
FORMS = ("function", "goal_file", "model_patch")
SUFFIXES = (".jsonl", ".json", ".parquet")
MAX_ROW_BYTES = 8 * 1024 * 1024
#: A .json file is parsed whole, so it has a limit of its own; JSONL and Parquet are read row by row.
MAX_JSON_BYTES = 256 * 1024 * 1024
MAX_NAME = 200
MAX_SAMPLE = 1_000_000
#: Of `metadata`: what is nested deeper can be read but not written again.
MAX_DEPTH = 50


@dataclass(frozen=True)
class Prediction:
    """One answer of one model for one instance."""

    instance_id: str
    model: str
    form: str
    """`function`, `goal_file` or `model_patch`."""
    content: str
    sample: int = 0
    setting: str = ""
    metadata: Mapping[str, Any] | None = None

    @property
    def sha256(self) -> str:
        """Identity of what is evaluated: predictions that agree in it run once."""
        return hashlib.sha256(f"{self.form}\n{self.content}".encode()).hexdigest()

    @property
    def key(self) -> tuple[str, str, str, int]:
        """Identity of the row: a second one with the same key is a duplicate."""
        return self.instance_id, self.model, self.setting, self.sample

    def as_row(self) -> dict[str, Any]:
        """The row as it is written: the names of the prediction contract."""
        row = {
            "instance_id": self.instance_id,
            "model_name_or_path": self.model,
            self.form: self.content,
            "sample": self.sample,
            "setting": self.setting,
        }
        return {**row, "metadata": self.metadata} if self.metadata is not None else row


@dataclass(frozen=True)
class BadRow:
    """A row that cannot be evaluated."""

    place: str
    reason: str

    def __str__(self) -> str:
        return f"{self.place}: {self.reason}"


def read_predictions(source: str, rows: Mapping[str, Mapping[str, Any]]) -> Iterator[Prediction | BadRow]:
    """Yield the predictions of `source` in order, bad rows among them.

    Args:
        source: a path (.jsonl, .json, .parquet), `org/name[@revision]` on the Hub, `gold` or `masked`.
        rows: the dataset's rows by instance id.

    Raises:
        InputError: the source itself cannot be read.
    """
    check_source(source)
    if source in WORDS:
        for instance_id, row in rows.items():
            yield Prediction(instance_id, source, "goal_file", _own_file(row, source))
        return
    seen: dict[tuple[str, str, str, int], str] = {}
    for place, raw in _raw_rows(source):
        item = raw if isinstance(raw, BadRow) else _check(place, raw, rows.keys())
        if isinstance(item, Prediction):
            first = seen.setdefault(item.key, place)
            if first != place:
                item = BadRow(place, f"duplicate of {first} (same instance, model, setting and sample)")
        yield item


def _own_file(row: Mapping[str, Any], word: str) -> str:
    if word == "gold":
        return str(row["golden_file"])
    return read_archive(row["repo_archive"])[row["goal_file"]].data.decode("utf-8")


def check_source(source: str) -> None:
    """Fail early on predictions that cannot be there.

    Raises:
        InputError: neither a word, nor a file, nor the name of a Hub dataset.
    """
    path = Path(source)
    if source in WORDS or path.is_file():
        return
    if path.is_dir():
        raise InputError(f"predictions {source!r}: is a folder; give a file in it ({', '.join(SUFFIXES)})")
    if path.exists():
        raise InputError(f"predictions {source!r}: not a regular file; save the rows to a file first")
    if path.suffix in SUFFIXES or not re.fullmatch(r"[\w.-]+/[\w.-]+(@[\w./-]+)?", source):
        kinds = ", ".join(SUFFIXES)
        raise InputError(f"predictions {source!r}: no such file; give {kinds}, org/name, `gold` or `masked`")


def _raw_rows(source: str) -> Iterator[tuple[str, Any]]:
    path = Path(source)
    if not path.is_file():
        return _hub_rows(source)
    if path.suffix == ".parquet":
        return _parquet_rows(path)
    return _json_rows(path) if path.suffix == ".json" else _jsonl_rows(path)


def _jsonl_rows(path: Path) -> Iterator[tuple[str, Any]]:
    with path.open("rb") as file:
        number = 0
        while line := file.readline(MAX_ROW_BYTES + 1):
            number += 1
            place = f"{path}:{number}"
            if len(line) > MAX_ROW_BYTES:
                while not line.endswith(b"\n") and (line := file.readline(1 << 20)):
                    pass  # skipped in pieces, never held whole
                yield place, BadRow(place, f"line longer than {MAX_ROW_BYTES // 2**20} MiB")
            elif line.strip():
                yield place, _parse_json(place, line)


def _parse_json(place: str, line: bytes) -> Any:
    try:
        return json.loads(line.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        return BadRow(place, f"not UTF-8 (byte {error.start} of the line)")
    except ValueError as error:
        return BadRow(place, f"not JSON: {error}")
    except RecursionError:
        return BadRow(place, "not JSON that can be read: nested too deeply")


def _json_rows(path: Path) -> Iterator[tuple[str, Any]]:
    if path.stat().st_size > MAX_JSON_BYTES:
        raise InputError(f"{path}: larger than {MAX_JSON_BYTES // 2**20} MiB; give one row a line in a .jsonl file")
    content = _parse_json(str(path), path.read_bytes())
    if isinstance(content, BadRow):
        raise InputError(f"{content}; a file of one row a line is named .jsonl")
    if isinstance(content, dict) and "instance_id" in content:
        content = [content]
    if isinstance(content, dict):  # SWE-bench's older form: instance id → row
        for key, value in content.items():
            yield f"{path}[{key!r}]", {"instance_id": key, **value} if isinstance(value, dict) else value
    elif isinstance(content, list):
        for index, value in enumerate(content):
            yield f"{path}[{index}]", value
    else:
        raise InputError(f"{path}: neither a list of rows nor a mapping of them")


def _parquet_rows(path: Path) -> Iterator[tuple[str, Any]]:
    import pyarrow
    import pyarrow.parquet

    number = 0
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=16):
                for index in range(batch.num_rows):
                    number += 1
                    place = f"{path} row {number}"
                    try:
                        [raw] = batch.slice(index, 1).to_pylist()
                    except UnicodeDecodeError:
                        yield place, BadRow(place, "holds text that is not UTF-8")
                    else:
                        yield place, raw
    except (pyarrow.ArrowException, OSError) as error:
        raise InputError(f"{path}: not readable as Parquet after row {number}: {one_line(error)}") from error


def _hub_rows(source: str) -> Iterator[tuple[str, Any]]:
    from datasets import concatenate_datasets, load_dataset

    name, _, revision = source.partition("@")
    try:
        splits = load_dataset(name, revision=revision or None)
        rows = concatenate_datasets(list(splits.values()))
    except Exception as error:  # many kinds; all mean that there is no such dataset of predictions
        reason = f"{type(error).__name__}: {one_line(error)}"
        raise InputError(f"predictions {source!r}: no such file, and no such dataset on the Hub ({reason})") from error
    for number, raw in enumerate(rows, start=1):
        yield f"{source} row {number}", raw


def one_line(error: Exception) -> str:
    """The first line of what an exception says."""
    return (str(error).strip() or type(error).__name__).splitlines()[0][:300]


def _check(place: str, raw: Any, known: Collection[str]) -> Prediction | BadRow:
    """A prediction, if the row keeps to the contract."""
    if not isinstance(raw, dict):
        return BadRow(place, f"a row is a JSON object, not {_kind(raw)}")
    instance_id, model = raw.get("instance_id"), raw.get("model_name_or_path")
    for name, value in (("instance_id", instance_id), ("model_name_or_path", model)):
        if value is None:
            return BadRow(place, f"missing key {name!r}")
        if not isinstance(value, str) or not value.strip() or len(value) > MAX_NAME or not value.isprintable():
            return BadRow(place, f"{name} must be a printable text of 1 to {MAX_NAME} characters")
    if instance_id not in known:
        near = difflib.get_close_matches(str(instance_id), known, n=1)
        return BadRow(place, f"unknown instance {instance_id!r}" + (f"; did you mean {near[0]!r}?" if near else ""))
    forms = [form for form in FORMS if raw.get(form) is not None]
    if len(forms) != 1:
        found = " and ".join(forms) if forms else "none"
        return BadRow(place, f"exactly one of {', '.join(FORMS)} is needed, found {found}")
    content = raw[forms[0]]
    if not isinstance(content, str):
        return BadRow(place, f"{forms[0]} must be text, not {_kind(content)}")
    if not content.strip():
        return BadRow(place, f"{forms[0]} is empty")
    if len(content) > MAX_ROW_BYTES:
        return BadRow(place, f"{forms[0]} is longer than {MAX_ROW_BYTES // 2**20} MiB")
    try:
        content.encode("utf-8")
    except UnicodeEncodeError:
        return BadRow(place, f"{forms[0]} holds half a surrogate pair: not valid Unicode")
    sample, setting, metadata = raw.get("sample"), raw.get("setting"), raw.get("metadata")
    if sample is not None and (type(sample) is not int or not 0 <= sample <= MAX_SAMPLE):
        return BadRow(place, f"sample must be a whole number from 0 to {MAX_SAMPLE}, not {reprlib.repr(sample)}")
    if setting is not None and (not isinstance(setting, str) or len(setting) > MAX_NAME or not setting.isprintable()):
        return BadRow(place, f"setting must be printable text of at most {MAX_NAME} characters")
    if metadata is not None and not (isinstance(metadata, dict) and _is_json(metadata)):
        return BadRow(place, f"metadata must be a JSON object of at most {MAX_DEPTH} levels, not {_kind(metadata)}")
    return Prediction(str(instance_id), str(model), forms[0], content, sample or 0, setting or "", metadata)


def _kind(value: Any) -> str:
    names = {"dict": "an object", "list": "a list", "str": "text", "bool": "true or false", "NoneType": "null"}
    return names.get(type(value).__name__, "a number" if isinstance(value, int | float) else type(value).__name__)


def _is_json(value: Any, depth: int = 0) -> bool:
    """Whether `value` can be written as JSON; Parquet rows may hold times, bytes and the like."""
    if isinstance(value, dict):
        items = value.values() if all(isinstance(key, str) for key in value) else [object()]
    elif isinstance(value, list):
        items = value
    else:
        return value is None or isinstance(value, str | int | float)
    return depth < MAX_DEPTH and all(_is_json(item, depth + 1) for item in items)


class PredictionFile:
    """A run's own copy of its predictions (`predictions.jsonl`), read back row by row, never held whole."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self, position: int) -> Prediction:
        """The prediction that starts at a byte position."""
        with self.path.open("rb") as file:
            file.seek(position)
            return _stored(file.readline())

    def __iter__(self) -> Iterator[Prediction]:
        """All predictions in order.

        Raises:
            InputError: the file was damaged.
        """
        with self.path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                try:
                    yield _stored(line)
                except (ValueError, TypeError, LookupError, StopIteration, RecursionError) as error:
                    raise InputError(f"{self.path}:{number}: damaged; evaluate again to mend it") from error

    @staticmethod
    def append(file: io.BufferedWriter, prediction: Prediction) -> int:
        """Write a prediction; return the byte position at which it starts."""
        position = file.tell()
        file.write(json.dumps(prediction.as_row()).encode("ascii") + b"\n")
        return position


def _stored(line: bytes) -> Prediction:
    """A row as `Prediction.as_row` wrote it."""
    raw = json.loads(line)
    form = next(form for form in FORMS if form in raw)
    names = raw["instance_id"], raw["model_name_or_path"]
    return Prediction(*names, form, raw[form], raw["sample"], raw["setting"], raw.get("metadata"))
