"""What `verify` writes to the results dataset: columns of its own run, and the submitter's claims as `claimed_` ones.

Nothing here is a copy of a stranger's file. One Parquet file a run keeps the dataset append-only: two runs never touch
the same file.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...names import clean_name
from ...rows import DatasetRow, ResultRow
from ...times import now
from ...version import __version__
from ..judge.category import Category
from ..runs.folder import read_facts, read_results
from ..verdict import Status, worst
from .claim import Claim, shown
from .submission import PUBLISHED_FACTS, packed_logs, parquet_bytes

if TYPE_CHECKING:
    import pyarrow

#: So many answers are listed in a record; the rows have them all.
MAX_LISTED = 1000


@dataclass(frozen=True)
class Publication:
    """A verified run, as it is committed.

    Attributes:
        files: path in the results dataset → content, the record among them.
        record: what `verified/<run_id>.json` says.
    """

    run_id: str
    files: dict[str, bytes]
    record: dict[str, Any]


def record_path(run_id: str) -> str:
    """Where the record of a verification lies."""
    return f"verified/{run_id}.json"


def belongs(name: str, run_id: str) -> bool:
    """Whether a path of the results dataset is one of a run's."""
    folder = f"runs/{run_id}"
    return name in (record_path(run_id), f"data/{run_id}.parquet", folder) or name.startswith(f"{folder}/")


def schema() -> "pyarrow.Schema":
    """The columns of a Parquet file of the results dataset."""
    import pyarrow as pa

    text, number = pa.string(), pa.int64()
    case = pa.struct([("name", text), ("seed", number), ("status", text), ("detail", text)])
    columns = {
        **dict.fromkeys(("run_id", "instance_id", "category", "model_name_or_path", "setting"), text),
        "sample": number,
        **dict.fromkeys(("prediction_sha256", "status", "detail"), text),
        "memorised": pa.bool_(),
        "cases": pa.list_(case),
        "duration_s": pa.float64(),
        **dict.fromkeys(("sandbox", "image_id", "dataset", "dataset_sha256", "benchmark_version"), text),
        **dict.fromkeys(("harness_version", "started_at", "submitted_by"), text),
        "scope_size": number,
        **dict.fromkeys(("claimed_status", "claimed_judge_category", "claimed_judge_model"), text),
    }
    return pa.schema(list(columns.items()))


def row_key(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """What tells a row of a run from every other one."""
    return row["instance_id"], row["model_name_or_path"], row["setting"] or "", row["sample"]


def row_name(row: Mapping[str, Any] | None) -> str:
    """How a message names a row."""
    assert row is not None
    setting = f" ({shown(row['setting'])})" if row["setting"] else ""
    return f"{shown(row['instance_id'])}, {shown(row['model_name_or_path'])}{setting}, sample {row['sample']}"


def published_status(row: ResultRow, seeds: Sequence[int]) -> str:
    """The verdict on the published seeds alone: all that a submitter can know of."""
    statuses = [Status(case["status"]) for case in row["cases"] if case["seed"] in seeds]
    return str(worst(statuses)) if statuses else row["status"]


def is_memorised(row: ResultRow, seeds: Sequence[int]) -> bool:
    """Whether an answer passes on the published seeds and not on others."""
    flag: Any = row.get("memorised")
    if isinstance(flag, bool):
        return flag
    return published_status(row, seeds) == Status.PASSED != row["status"]


def make_publication(claim: Claim, run: Path, instances: Mapping[str, DatasetRow], verified_by: str) -> Publication:
    """The files of a claim that was repeated in the run folder `run`.

    Args:
        instances: every row of the dataset by instance id.
    """
    facts = read_facts(run)
    claimed = {row_key(row): row for row in claim.rows}
    shared = {
        "run_id": claim.run_id,
        "benchmark_version": facts["benchmark_version"],
        "submitted_by": claim.author,
        "scope_size": len(instances),
    }
    rows: list[dict[str, Any]] = []
    for row in read_results(run):
        memorised = is_memorised(row, instances[row["instance_id"]]["tests"]["seeds"])
        own = {name: row.get(name) for name in schema().names if not name.startswith("claimed_")}
        rows.append({**own, **shared, "memorised": memorised, **_claims(claimed[row_key(row)])})
    predictions = (run / "predictions.jsonl").read_bytes()
    parquet = parquet_bytes(rows, schema())
    names = ("instance_id", "model_name_or_path", "setting", "sample")
    listed = [{name: row[name] for name in names} for row in rows if row["memorised"]]
    record = {
        "run_id": claim.run_id,
        "parquet_sha256": hashlib.sha256(parquet).hexdigest(),
        "predictions_sha256": hashlib.sha256(predictions).hexdigest(),
        "verified_at": now(),
        "verified_by": verified_by,
        "submitted_by": claim.author,
        "pull_request": claim.pull_request,
        "submission": claim.sha,
        "models": sorted({row["model_name_or_path"] for row in rows}),
        "harness_version": __version__,
        "dataset_sha256": claim.dataset_sha256,
        "rows": len(rows),
        "agreed": len(rows) - len(listed),
        "memorised": listed[:MAX_LISTED],
        "fresh_seeds": facts.get("fresh_seeds", []),
    }
    folder = f"runs/{claim.run_id}"
    shown = {**{name: facts[name] for name in PUBLISHED_FACTS if name in facts}, "run_id": claim.run_id}
    files = {
        f"data/{claim.run_id}.parquet": parquet,
        f"{folder}/predictions.jsonl": predictions,
        f"{folder}/run.json": _json(shown),
        record_path(claim.run_id): _json(record),
    }
    if logs := packed_logs(run / "logs"):
        files[f"{folder}/logs.tar.gz"] = logs
    return Publication(claim.run_id, files, record)


def _claims(row: Mapping[str, Any]) -> dict[str, str | None]:
    """What the submitter says and nobody has repeated; what is not even of the right kind is left out."""
    category = row["judge_category"] if row["judge_category"] in list(Category) else None
    try:
        judge = clean_name(row["judge_model"] or "") if category else None
    except ValueError:
        judge = None
    return {"claimed_status": row["status"], "claimed_judge_category": category, "claimed_judge_model": judge}


def _json(value: Mapping[str, Any]) -> bytes:
    return (json.dumps(value, indent=2) + "\n").encode("ascii")
