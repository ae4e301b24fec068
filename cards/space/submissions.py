"""One run's Parquet file, as a stranger wrote it: checked before it is read, reduced to what the leaderboard shows.

A file is believed only as far as its shape goes: right columns, sane sizes, one row a prediction. Text columns are read
as dictionaries, so that a small file cannot grow into a large table.
"""

import hashlib
import io
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
VERSION = re.compile(r"\d{1,6}\.\d{1,6}\.\d{1,6}")
STATUSES = ("passed", "failed", "error", "timeout", "oom", "malformed", "infra_error")
#: The judge's: completely correct, logic correct with subtle errors, incorrect logic.
JUDGED = ("CC", "LC", "LI")

MAX_ROWS = 50_000
MAX_TABLE_BYTES = 256 * 1024 * 1024
MAX_TEXT_BYTES = 500
MAX_INSTANCES = 1_000
MAX_ENTRIES = 100
MAX_SAMPLES = 1_000

_TEXT, _NUMBER = pa.string(), pa.int64()
#: What is read. `cases` and the rationales, the large columns, are not.
COLUMNS = {
    **dict.fromkeys(("run_id", "instance_id", "category", "model_name_or_path", "setting"), _TEXT),
    "sample": _NUMBER,
    **dict.fromkeys(("status", "judge_category", "judge_model"), _TEXT),
    **dict.fromkeys(("dataset_sha256", "benchmark_version", "submitted_by"), _TEXT),
    "scope_size": _NUMBER,
}
_MAY_BE_NULL = {"setting", "judge_category", "judge_model", "submitted_by"}
_ONE_VALUE = ("run_id", "dataset_sha256", "benchmark_version", "submitted_by", "scope_size")


class Damaged(Exception):
    """A run cannot be shown; the message says why, in words of our own."""


@dataclass(frozen=True)
class Instance:
    """What one entry achieved on one instance.

    Attributes:
        statuses: how many samples ended how.
        judged: how many samples the judge put where.
    """

    category: str
    statuses: Counter[str]
    judged: Counter[str]


@dataclass(frozen=True)
class Entry:
    """One model in one setting of a run.

    Attributes:
        samples: of the instance that has most; every instance counts with as many.
        instances: instance id → outcome, answered instances only.
    """

    model: str
    setting: str
    samples: int
    instances: dict[str, Instance]
    judges: tuple[str, ...]


@dataclass(frozen=True)
class Run:
    """A run whose file could be read.

    Attributes:
        sha256: of the Parquet file.
        scope_size: how many instances the run was evaluated on, answered or not.
    """

    run_id: str
    sha256: str
    version: str
    dataset_sha256: str
    submitted_by: str
    scope_size: int
    entries: tuple[Entry, ...]


def read_run(content: bytes, run_id: str) -> Run:
    """Read `data/<run_id>.parquet`.

    Raises:
        Damaged: it is no such file.
    """
    try:
        columns = _columns(content)
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        raise Damaged(f"not readable as Parquet ({type(error).__name__})") from error
    for name, values in columns.items():
        if name not in _MAY_BE_NULL and None in values:
            raise Damaged(f"{name} is missing in a row")
        if name in _ONE_VALUE and len(set(values)) != 1:
            raise Damaged(f"{name} is not the same in all rows")
    shared = {name: columns[name][0] for name in _ONE_VALUE}
    if shared["run_id"] != run_id:
        raise Damaged("its rows name another run")
    if not VERSION.fullmatch(shared["benchmark_version"]):
        raise Damaged("benchmark_version is not of the form 1.2.3")
    rows: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for cells in zip(*columns.values(), strict=True):
        row = dict(zip(columns, cells, strict=True))
        rows.setdefault((row["model_name_or_path"], row["setting"] or ""), []).append(row)
    if len(rows) > MAX_ENTRIES:
        raise Damaged(f"more than {MAX_ENTRIES} models and settings")
    entries = tuple(_entry(*key, group, shared["scope_size"]) for key, group in sorted(rows.items()))
    return Run(
        run_id,
        hashlib.sha256(content).hexdigest(),
        shared["benchmark_version"],
        shared["dataset_sha256"],
        shared["submitted_by"] or "",
        shared["scope_size"],
        entries,
    )


def _columns(content: bytes) -> dict[str, list[Any]]:
    with pq.ParquetFile(io.BytesIO(content)) as file:
        metadata, schema = file.metadata, file.schema_arrow
    size = sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
    if metadata.num_rows > MAX_ROWS or size > MAX_TABLE_BYTES:
        raise Damaged("too large")
    if metadata.num_rows == 0:
        raise Damaged("no rows")
    for name, kind in COLUMNS.items():
        if schema.names.count(name) != 1 or schema.field(name).type != kind:
            raise Damaged(f"column {name} is missing or of another type")
    texts = [name for name, kind in COLUMNS.items() if kind == _TEXT]
    with pq.ParquetFile(io.BytesIO(content), read_dictionary=texts) as file:
        table = file.read(columns=list(COLUMNS))
    return {name: _values(name, table.column(name)) for name in COLUMNS}


def _values(name: str, column: pa.ChunkedArray) -> list[Any]:
    """A column's values; a text that occurs often is in memory once."""
    if not pa.types.is_dictionary(column.type):
        return list(column.to_pylist())
    values: list[Any] = []
    for chunk in column.chunks:
        if (pc.max(pc.binary_length(chunk.dictionary)).as_py() or 0) > MAX_TEXT_BYTES:
            raise Damaged(f"{name} is longer than {MAX_TEXT_BYTES} bytes")
        texts = chunk.dictionary.to_pylist()
        values += [None if code is None else texts[code] for code in chunk.indices.to_pylist()]
    return values


def _entry(model: str, setting: str, rows: Sequence[dict[str, Any]], scope_size: int) -> Entry:
    instances: dict[str, Instance] = {}
    seen = set()
    for row in rows:
        name, status, judged = row["instance_id"], row["status"], row["judge_category"]
        if status not in STATUSES or judged not in (None, *JUDGED):
            raise Damaged("unknown status or judge category")
        if (name, row["sample"]) in seen:
            raise Damaged("a row occurs twice")
        seen.add((name, row["sample"]))
        instance = instances.setdefault(name, Instance(row["category"], Counter(), Counter()))
        if instance.category != row["category"]:
            raise Damaged("an instance has two categories")
        instance.statuses[status] += 1
        if judged:
            instance.judged[judged] += 1
    samples = max(instance.statuses.total() for instance in instances.values())
    if not len(instances) <= scope_size <= MAX_INSTANCES or samples > MAX_SAMPLES:
        raise Damaged("scope_size does not fit the rows")
    judges = sorted({row["judge_model"] for row in rows if row["judge_category"] and row["judge_model"]})
    return Entry(model, setting, samples, instances, tuple(judges))
