"""A run as its submitter claims it: one Parquet file of rows, with predictions, judgements and logs beside it.

Columns and limits are fixed here, for the side that writes and the side that reads what a stranger wrote: what `verify`
would refuse is refused before it is sent. What becomes of a claim is in `publication`.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...archive import gzip_bytes, tar_bytes
from ...errors import InputError
from ...loader import File
from ...names import clean_name
from ...text import one_line
from ...untrusted import UnreadableError, read_parquet_rows
from ..judge.store import answer_id, read_judgements
from ..predictions import TRACKS
from ..runs.results import read_facts, read_results
from ..runs.standing import why_unofficial
from ..verdict import Status

if TYPE_CHECKING:
    import pyarrow

RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
MAX_LOGS_BYTES = 16 * 1024 * 1024
_MIB = 1024 * 1024
#: What a submission may add, with the largest size of each in bytes.
ALLOWED = {
    "data/{run_id}.parquet": 64 * _MIB,
    "runs/{run_id}/run.json": 1 * _MIB,
    "runs/{run_id}/predictions.jsonl": 256 * _MIB,
    "runs/{run_id}/judgements.jsonl": 256 * _MIB,
    "runs/{run_id}/logs.tar.gz": 32 * _MIB,
}
#: Of the Parquet file; the leaderboard has the same limits for what it shows.
MAX_ROWS, MAX_TABLE_BYTES, MAX_TEXT_BYTES = 50_000, 256 * _MIB, 1000
MAX_ENTRIES, MAX_SAMPLES = 100, 1000
_UNREAD = ("cases", "detail", "judge_rationale")
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
    """The columns of a submission's Parquet file."""
    import pyarrow as pa

    text, number = pa.string(), pa.int64()
    columns = {
        **dict.fromkeys(("run_id", "instance_id", "category", "model_name_or_path", "setting", "track"), text),
        "sample": number,
        **dict.fromkeys(("prediction_sha256", "status", "core_status", "detail"), text),
        "cases": case_type(),
        **dict.fromkeys(("judge_category", "judge_model"), text),
        "judge_rationale": pa.list_(text),
        "duration_s": pa.float64(),
        **dict.fromkeys(("sandbox", "image_id", "dataset", "dataset_sha256", "benchmark_version"), text),
        **dict.fromkeys(("harness_version", "started_at", "submitted_by"), text),
        "scope_size": number,
    }
    return pa.schema(list(columns.items()))


def case_type() -> "pyarrow.DataType":
    """The column of the verdicts on cases."""
    import pyarrow as pa

    text = pa.string()
    case = [("name", text), ("seed", pa.int64()), ("core", pa.bool_()), ("status", text), ("detail", text)]
    return pa.list_(pa.struct(case))


def make_submission(run: Path, instances: Sequence[str], submitted_by: str) -> Submission:
    """The files of a run for the results dataset.

    Args:
        instances: every instance of the dataset that the run was evaluated on.

    Raises:
        InputError: the run is not one that can be published; every reason is named.
    """
    facts = read_facts(run)
    rows = list(read_results(run))
    if faults := [*_faults(run, facts, rows, instances), *table_faults(rows)]:
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
        judgement = judgements.get(answer_id(row))
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
        f"data/{run_id}.parquet": parquet_bytes(published, schema()),
        f"{folder}/run.json": (json.dumps(shown, indent=2) + "\n").encode(),
        f"{folder}/predictions.jsonl": (run / "predictions.jsonl").read_bytes(),
    }
    if (run / "judgements.jsonl").is_file():
        files[f"{folder}/judgements.jsonl"] = (run / "judgements.jsonl").read_bytes()
    if logs := packed_logs(run / "logs"):
        files[f"{folder}/logs.tar.gz"] = logs
    limits = {name.format(run_id=run_id): limit for name, limit in ALLOWED.items()}
    if large := [name for name, content in files.items() if len(content) > limits[name]]:
        raise InputError(f"{run}: cannot be submitted: {large[0]} is larger than {limits[large[0]] // _MIB} MiB")
    models = sorted({str(row["model_name_or_path"]) for row in rows})
    return Submission(run_id, facts, models, published, files)


def _faults(
    run: Path, facts: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], instances: Sequence[str]
) -> Iterator[str]:
    if not facts.get("complete"):
        yield "it is not complete; run the same `lmrbench evaluate` again"
    if any(row["status"] == Status.INFRA_ERROR for row in rows):
        yield "it has infra errors; run the same `lmrbench evaluate` again"
    if reason := why_unofficial(facts):
        yield reason
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


def table_faults(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Why rows cannot be published, whoever made them: no track, misleading names, more than the leaderboard shows."""
    if trackless := [row for row in rows if row["track"] not in TRACKS]:
        more = f" and {len(trackless) - 1} more" if len(trackless) > 1 else ""
        yield (
            f"{len(trackless)} of {len(rows)} rows name no track ({row_name(trackless[0])}{more}); "
            f"set `track` to {' or '.join(TRACKS)} in these predictions and evaluate again"
        )
    names = {str(row["model_name_or_path"]) for row in rows} | {str(row["setting"]) for row in rows if row["setting"]}
    for name in sorted(names):
        try:
            clean = clean_name(name)
        except ValueError as error:
            yield f"the name {ascii(name)[:120]} {error}"
            continue
        if clean != name:
            yield f"the name {ascii(name)[:120]} has to be spelled {ascii(clean)[:120]}"
    samples = Counter(row_key(row)[:-1] for row in rows)
    if len(rows) > MAX_ROWS or max(samples.values(), default=0) > MAX_SAMPLES:
        yield f"it has more than {MAX_ROWS} rows or {MAX_SAMPLES} samples of an instance; submit it in parts"
    if len({key[1:] for key in samples}) > MAX_ENTRIES:
        yield f"it has more than {MAX_ENTRIES} models, settings and tracks; submit it in parts"


def row_key(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """What tells a row of a run from every other one; the number of the sample comes last."""
    return row["instance_id"], row["model_name_or_path"], row["setting"] or "", row["track"], row["sample"]


def row_name(row: Mapping[str, Any] | None) -> str:
    """How a message names a row."""
    assert row is not None
    setting = f" ({shown(row['setting'])})" if row["setting"] else ""
    track = f", {row['track']} track" if row["track"] in TRACKS else ""
    return f"{shown(row['instance_id'])}, {shown(row['model_name_or_path'])}{setting}{track}, sample {row['sample']}"


def shown(text: Any) -> str:
    """What a submission says, short enough for a line and without what no reader can see."""
    return one_line(text)[:120]


def parquet_bytes(rows: Sequence[Mapping[str, Any]], columns: "pyarrow.Schema") -> bytes:
    """Rows as a Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(list(rows), schema=columns), sink)
    return bytes(sink.getvalue())


def packed_logs(folder: Path) -> bytes:
    """The logs of a run as one archive, the largest left out where all would be too much; empty without any."""
    sizes = {path: path.stat().st_size for path in folder.rglob("*.log")}
    kept: dict[str, File] = {}
    size = 0
    for path in sorted(sizes, key=lambda path: (sizes[path], path)):
        size += sizes[path]
        if size > MAX_LOGS_BYTES:
            break
        kept[str(path.relative_to(folder))] = File(path.read_bytes())
    return gzip_bytes(tar_bytes(kept)) if kept else b""


def read_rows(path: Path, what: str) -> list[dict[str, Any]]:
    """The rows of a submission's Parquet file, without its cases, details and rationales: nothing here needs them.

    Raises:
        InputError: it is not Parquet, lacks a column of `schema`, or is too large to be read.
    """
    columns = {field.name: str(field.type) for field in schema() if field.name not in _UNREAD}
    try:
        return read_parquet_rows(path, columns, MAX_ROWS, MAX_TABLE_BYTES, MAX_TEXT_BYTES)
    except UnreadableError as error:
        raise InputError(f"{what}: {error}") from error
