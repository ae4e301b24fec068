"""Read prediction rows: JSONL, JSON (SWE-bench's forms too), Parquet or a Hub dataset; and the words `gold` and `masked`.

A bad row never stops a run: it comes out as a `BadRow` with its place and reason, and the good ones go on.
"""

import difflib
import hashlib
import io
import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmrbench_data.errors import InputError
from lmrbench_data.loader import read_archive

FORMS = ("function", "goal_file", "model_patch")
MAX_ROW_BYTES = 8 * 1024 * 1024
MAX_NAME = 200


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
    if source in ("gold", "masked"):
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


def _raw_rows(source: str) -> Iterator[tuple[str, Any]]:
    path = Path(source)
    if path.is_file():
        if path.suffix == ".parquet":
            return _parquet_rows(path)
        return _json_rows(path) if path.suffix == ".json" else _jsonl_rows(path)
    if re.fullmatch(r"[\w.-]+/[\w.-]+(@[\w./-]+)?", source) and not path.exists():
        return _hub_rows(source)
    raise InputError(f"predictions {source!r}: no such file; give .jsonl, .json, .parquet, org/name, `gold` or `masked`")


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
    content = _parse_json(str(path), path.read_bytes())
    if isinstance(content, BadRow):
        raise InputError(str(content))
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

    try:
        file = pyarrow.parquet.ParquetFile(path)
        number = 0
        for batch in file.iter_batches(batch_size=64):
            for raw in batch.to_pylist():
                number += 1
                yield f"{path} row {number}", {key: value for key, value in raw.items() if value is not None}
    except (pyarrow.ArrowException, OSError) as error:
        raise InputError(f"{path}: not readable as Parquet: {str(error).splitlines()[0]}") from error


def _hub_rows(source: str) -> Iterator[tuple[str, Any]]:
    from datasets import concatenate_datasets, load_dataset

    name, _, revision = source.partition("@")
    try:
        splits = load_dataset(name, revision=revision or None)
        rows = concatenate_datasets(list(splits.values()))
    except Exception as error:  # many kinds; all mean that there is no such dataset of predictions
        raise InputError(f"predictions {source!r}: not a file, and the Hub dataset cannot be loaded: {error}") from error
    for number, raw in enumerate(rows, start=1):
        yield f"{source} row {number}", {key: value for key, value in raw.items() if value is not None}


def _check(place: str, raw: Any, known: Collection[str]) -> Prediction | BadRow:
    """A prediction, if the row keeps to the contract."""
    if not isinstance(raw, dict):
        return BadRow(place, f"a row is a JSON object, not {type(raw).__name__}")
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
        return BadRow(place, f"{forms[0]} must be text, not {type(content).__name__}")
    if not content.strip():
        return BadRow(place, f"{forms[0]} is empty")
    sample, setting, metadata = raw.get("sample"), raw.get("setting"), raw.get("metadata")
    if sample is not None and (type(sample) is not int or sample < 0):
        return BadRow(place, f"sample must be a whole number from 0, not {sample!r:.50}")
    if setting is not None and (not isinstance(setting, str) or len(setting) > MAX_NAME):
        return BadRow(place, f"setting must be text of at most {MAX_NAME} characters")
    if metadata is not None and not isinstance(metadata, dict):
        return BadRow(place, f"metadata must be an object, not {type(metadata).__name__}")
    try:
        "\n".join([content, str(model), setting or ""]).encode("utf-8")
    except UnicodeEncodeError:
        return BadRow(place, f"{forms[0]} holds half a surrogate pair: not valid Unicode")
    return Prediction(str(instance_id), str(model), forms[0], content, sample or 0, setting or "", metadata)


class PredictionFile:
    """A run's own copy of its predictions (`predictions.jsonl`), read back row by row, never held whole."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self, position: int) -> Prediction:
        """The prediction that starts at a byte position."""
        with self.path.open("rb") as file:
            file.seek(position)
            raw = json.loads(file.readline())
        form = next(form for form in FORMS if form in raw)
        return Prediction(
            raw["instance_id"],
            raw["model_name_or_path"],
            form,
            raw[form],
            raw["sample"],
            raw["setting"],
            raw.get("metadata"),
        )

    @staticmethod
    def append(file: io.BufferedWriter, prediction: Prediction) -> int:
        """Write a prediction; return the byte position at which it starts."""
        position = file.tell()
        file.write(json.dumps(prediction.as_row()).encode("ascii") + b"\n")
        return position
