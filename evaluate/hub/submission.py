"""A run as the results dataset keeps it: one Parquet file of rows, with predictions, judgements and logs beside it.

One file a run makes the dataset append-only: two submitters never touch the same file. The columns are fixed here, for
the side that writes and the side that reads what a stranger wrote.
"""

import hashlib
import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...archive import gzip_bytes, tar_bytes
from ...errors import InputError
from ...loader import File
from ..judge.store import read_judgements
from ..runs.folder import read_facts, read_results
from ..verdict import Status

if TYPE_CHECKING:
    import pyarrow

RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
MAX_LOGS_BYTES = 16 * 1024 * 1024
#: Of a file that a stranger wrote.
MAX_ROWS, MAX_TABLE_BYTES, MAX_TEXT_BYTES = 100_000, 256 * 1024 * 1024, 1000
#: What of run.json is published: facts on the run, nothing on the machine.
PUBLISHED_FACTS = (
    *("run_id", "dataset", "dataset_sha256", "benchmark_version", "harness_version", "sandbox", "official_sandbox"),
    *("timeout_scale", "fresh_seed_count", "scope", "images", "limits", "complete", "started_at", "finished_at"),
)


@dataclass(frozen=True)
class Submission:
    """A run that may be submitted.

    Attributes:
        files: path in the results dataset → content.
    """

    run_id: str
    facts: dict[str, Any]
    models: list[str]
    rows: list[dict[str, Any]]
    files: dict[str, bytes]

    @property
    def sha256(self) -> str:
        """Hash of everything in it."""
        digest = hashlib.sha256()
        for name, content in sorted(self.files.items()):
            digest.update(f"{name}\0{len(content)}\0".encode() + content)
        return digest.hexdigest()


def schema() -> "pyarrow.Schema":
    """The columns of a Parquet file of the results dataset."""
    import pyarrow as pa

    text, number = pa.string(), pa.int64()
    case = pa.struct([("name", text), ("seed", number), ("status", text), ("detail", text)])
    columns = {
        **dict.fromkeys(("run_id", "instance_id", "category", "model_name_or_path", "setting"), text),
        "sample": number,
        **dict.fromkeys(("prediction_sha256", "status", "detail"), text),
        "cases": pa.list_(case),
        **dict.fromkeys(("judge_category", "judge_model"), text),
        "judge_rationale": pa.list_(text),
        "duration_s": pa.float64(),
        **dict.fromkeys(("sandbox", "image_id", "dataset", "dataset_sha256", "benchmark_version"), text),
        **dict.fromkeys(("harness_version", "started_at", "submitted_by"), text),
        "scope_size": number,
    }
    return pa.schema(list(columns.items()))


def make_submission(run: Path, instances: Sequence[str], submitted_by: str) -> Submission:
    """The files of a run for the results dataset.

    Args:
        instances: every instance of the dataset that the run was evaluated on.

    Raises:
        InputError: the run is not one that can be published; every reason is named.
    """
    facts = read_facts(run)
    rows = list(read_results(run))
    if faults := list(_faults(run, facts, rows, instances)):
        raise InputError(f"{run}: cannot be submitted: {'; '.join(faults)}")
    run_id = re.sub(r"[^A-Za-z0-9._-]", "-", facts["run_id"]).lstrip(".-")[-100:]
    judgements = read_judgements(run)
    shared = {
        "run_id": run_id,
        **{name: facts[name] for name in ("sandbox", "dataset", "dataset_sha256", "benchmark_version")},
        **{name: facts[name] for name in ("harness_version",)},
        "submitted_by": submitted_by,
        "scope_size": len(facts["scope"]),
    }
    published = []
    for row in rows:
        judgement = judgements.get((row["instance_id"], row["prediction_sha256"]))
        judged = judgement if judgement is not None and judgement.category else None
        published.append(
            {
                **{name: row.get(name) for name in schema().names},
                **shared,
                "judge_category": str(judged.category) if judged else None,
                "judge_model": judged.model if judged else None,
                "judge_rationale": list(judged.rationale) if judged else None,
            }
        )
    folder = f"runs/{run_id}"
    shown = {**{name: facts[name] for name in PUBLISHED_FACTS if name in facts}, "run_id": run_id}
    files = {
        f"data/{run_id}.parquet": _parquet(published),
        f"{folder}/run.json": (json.dumps(shown, indent=2) + "\n").encode(),
        f"{folder}/predictions.jsonl": (run / "predictions.jsonl").read_bytes(),
    }
    if (run / "judgements.jsonl").is_file():
        files[f"{folder}/judgements.jsonl"] = (run / "judgements.jsonl").read_bytes()
    if logs := _logs(run / "logs"):
        files[f"{folder}/logs.tar.gz"] = logs
    models = sorted({str(row["model_name_or_path"]) for row in rows})
    return Submission(run_id, facts, models, published, files)


def _faults(run: Path, facts: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], instances: Sequence[str]) -> Any:
    if not facts.get("complete"):
        yield "it is not complete; run the same `lmrbench evaluate` again"
    if any(row["status"] == Status.INFRA_ERROR for row in rows):
        yield "it has infra errors; run the same `lmrbench evaluate` again"
    if not facts["official_sandbox"]:
        yield f"it ran in the {facts['sandbox']} sandbox, which does not isolate; evaluate in docker"
    if facts["timeout_scale"] != 1:
        yield f"its time limits were scaled by {facts['timeout_scale']}"
    if missing := set(instances) - set(facts["scope"]):
        yield f"{len(missing)} of {len(instances)} instances are not in its scope ({min(missing)})"
    if unknown := set(facts["scope"]) - set(instances):
        yield f"its scope names unknown instances ({min(unknown)})"
    if not rows:
        yield "it has no results"
    if facts.get("predictions") in ("gold", "masked"):
        yield "it evaluated the benchmark's own files, not a model"
    if not (run / "predictions.jsonl").is_file():
        yield "predictions.jsonl is missing"


def _parquet(rows: Sequence[Mapping[str, Any]]) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(list(rows), schema=schema()), sink)
    return bytes(sink.getvalue())


def _logs(folder: Path) -> bytes:
    """The logs as one archive, the largest left out where all would be too much."""
    files = {str(path.relative_to(folder)): File(path.read_bytes()) for path in sorted(folder.rglob("*.log"))}
    size = 0
    kept = {}
    for name, file in sorted(files.items(), key=lambda item: (len(item[1].data), item[0])):
        size += len(file.data)
        if size <= MAX_LOGS_BYTES:
            kept[name] = file
    return gzip_bytes(tar_bytes(kept)) if kept else b""


def read_rows(content: bytes, what: str) -> list[dict[str, Any]]:
    """The rows of a Parquet file that a stranger wrote.

    Text is read as dictionaries, so that a small file cannot grow into a large table: forty thousand rows that share
    one long text take a few kilobytes in the file.

    Raises:
        InputError: it is not Parquet, has other columns than `schema`, or is too large to be read.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = schema().names
    # What is compared or shown of a claim; cases and rationales are for readers of the dataset.
    wanted = [name for name in names if name not in ("cases", "judge_rationale", "detail")]
    try:
        with pq.ParquetFile(io.BytesIO(content)) as file:
            metadata = file.metadata
            size = sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
            if metadata.num_rows > MAX_ROWS or size > MAX_TABLE_BYTES:
                raise InputError(f"{what}: {metadata.num_rows} rows of {size} bytes: too large to read")
            if not file.schema_arrow.equals(schema()):
                raise InputError(f"{what}: its columns are not those of a results file")
        texts = [name for name in wanted if schema().field(name).type == pa.string()]
        with pq.ParquetFile(io.BytesIO(content), read_dictionary=texts) as file:
            table = file.read(columns=wanted)
        columns = [_values(table.column(name), f"{what}: {name}") for name in wanted]
    except (pa.ArrowException, OSError, UnicodeDecodeError, OverflowError) as error:
        raise InputError(f"{what}: not readable as Parquet ({type(error).__name__})") from error
    return [dict(zip(wanted, cells, strict=True)) for cells in zip(*columns, strict=True)]


def _values(column: "pyarrow.ChunkedArray", what: str) -> list[Any]:
    """A column's values; a text that occurs often is in memory once."""
    import pyarrow as pa
    import pyarrow.compute as pc

    values: list[Any] = []
    for chunk in column.chunks:
        if not pa.types.is_dictionary(chunk.type):
            values += chunk.to_pylist()
            continue
        if (pc.max(pc.binary_length(chunk.dictionary)).as_py() or 0) > MAX_TEXT_BYTES:
            raise InputError(f"{what} is longer than {MAX_TEXT_BYTES} bytes in a row")
        texts = chunk.dictionary.to_pylist()
        values += [None if code is None else texts[code] for code in chunk.indices.to_pylist()]
    return values
