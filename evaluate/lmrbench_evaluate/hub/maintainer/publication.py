"""Make the files that `verify` publishes: columns of its own run, and the submitter's claims as `claimed_` columns.

No file is copied from a stranger. One Parquet file per run keeps the dataset append-only: two runs never touch the same
file.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmrbench_data.base.names import clean_name
from lmrbench_data.base.times import now
from lmrbench_data.base.version import __version__
from lmrbench_data.dataset.rows import DatasetRow, ResultRow

from ...judge.category import Category
from ...reports.sections import first_reason
from ...runs.folder import FACTS, LOGS, PREDICTIONS, RunFolder
from ...verdict.choices import STATED, counted_choices
from ...verdict.verdict import Status, worst
from ..layout import PUBLISHED_FACTS, packed_logs, parquet_bytes, record_path
from ..submitted_rows import case_type, row_key
from .claim import Claim

if TYPE_CHECKING:
    import pyarrow

#: Larger claims are left out, infinity among them.
MAX_COST_USD = 1e6
#: Longest text of a failing case, in characters: the leaderboard refuses texts over 1,000 bytes.
MAX_FAILURE = 240
#: Largest number of answers listed in a record; the rows have them all.
MAX_LISTED = 1000


@dataclass(frozen=True)
class Publication:
    """The commit of a verified run.

    Attributes:
        files: path in the results dataset → content, the record among them.
        record: the content of `verified/<run_id>.json`.
    """

    run_id: str
    files: dict[str, bytes]
    record: dict[str, Any]


def published_schema() -> "pyarrow.Schema":
    """Return the columns of a Parquet file of the results dataset."""
    import pyarrow as pa

    text, number = pa.string(), pa.int64()
    columns = {
        **dict.fromkeys(("run_id", "instance_id", "category", "paper_title", "paper_url"), text),
        **dict.fromkeys(("model_name_or_path", "setting", "track"), text),
        "sample": number,
        **dict.fromkeys(("prediction_sha256", "status", "core_status", "detail", "first_failure"), text),
        **dict.fromkeys(("memorised", "core_memorised"), pa.bool_()),
        "cases": case_type(),
        "duration_s": pa.float64(),
        **dict.fromkeys(("sandbox", "image_id", "dataset", "config", "dataset_sha256", "benchmark_version"), text),
        **dict.fromkeys(("harness_version", "started_at", "submitted_by"), text),
        "scope_size": number,
        **dict.fromkeys(("claimed_status", "claimed_core_status"), text),
        **dict.fromkeys(("claimed_judge_category", "claimed_judge_model"), text),
        "claimed_cost_usd": pa.float64(),
        **dict.fromkeys(("choices_counted", "choices_stated"), number),
        "choices_chance": pa.float64(),
    }
    return pa.schema(list(columns.items()))


def published_status(row: ResultRow, seeds: Sequence[int], *, core: bool = False) -> str:
    """Return the verdict on the published seeds alone, which a submitter can know; on the core cases if `core`."""
    cases = [case for case in row["cases"] if case["seed"] in seeds and (case["core"] or not core)]
    return str(worst(Status(case["status"]) for case in cases)) if cases else row["core_status" if core else "status"]


def _first_failure(row: ResultRow) -> str:
    """Return the case that decided an answer's outcome, on one line; empty for a robust answer."""
    return "" if row["status"] == Status.PASSED else " ".join(first_reason(row).split())[:MAX_FAILURE]


def is_memorised(row: Mapping[str, Any]) -> bool:
    """Return whether an answer passes the published seeds and not the fresh ones, at either level."""
    return bool(row["memorised"] or row["core_memorised"])


def make_publication(
    claim: Claim,
    run: Path,
    instances: Mapping[str, DatasetRow],
    verified_by: str,
    model_repos: Sequence[str] = (),
) -> Publication:
    """Make the files of a claim that was repeated in the run folder `run`.

    Args:
        instances: every row of the dataset by instance id.
        model_repos: the models that are repositories on the Hub.
    """
    repeated = RunFolder(run)
    facts = repeated.facts
    claimed = {row_key(row): row for row in claim.rows}
    shared = {
        "run_id": claim.run_id,
        "config": repeated.config,
        "benchmark_version": facts["benchmark_version"],
        "submitted_by": claim.author,
        "scope_size": len(instances),
    }
    costs = {item.key: _cost(item.metadata) for item in repeated.predictions}
    rows: list[dict[str, Any]] = []
    for row in repeated.rows():
        paper = {name: instances[row["instance_id"]][name] for name in ("paper_title", "paper_url")}
        own = {name: row.get(name) for name in published_schema().names if not name.startswith("claimed_")}
        claims = {**_claims(claimed[row_key(row)]), "claimed_cost_usd": costs.get(row_key(row))}
        failure = {"first_failure": _first_failure(row)}
        rows.append({**own, **paper, **shared, **claims, **failure, **_choices(row)})
    predictions = (run / PREDICTIONS).read_bytes()
    parquet = parquet_bytes(rows, published_schema())
    names = ("instance_id", "model_name_or_path", "setting", "track", "sample")
    memorised = [
        {**{name: row[name] for name in names}, "core": row["core_memorised"]} for row in rows if is_memorised(row)
    ]
    # An answer that times out on secret seeds is not memorised, yet it differs.
    levels = ("status", "core_status")
    differing = [row for row in rows if any(row[level] != row[f"claimed_{level}"] for level in levels)]
    other = [
        {name: row[name] for name in (*names, *levels, *(f"claimed_{level}" for level in levels))}
        for row in differing
        if not is_memorised(row)
    ]
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
        "model_repos": sorted(model_repos),
        "tracks": sorted({row["track"] for row in rows}),
        "harness_version": __version__,
        "config": repeated.config,
        "dataset_sha256": claim.dataset_sha256,
        "rows": len(rows),
        "agreed": len(rows) - len(differing),
        "memorised": memorised[:MAX_LISTED],
        "differing": other[:MAX_LISTED],
        "fresh_seeds": facts.get("fresh_seeds", []),
    }
    folder = f"runs/{claim.run_id}"
    shown = {**{name: facts[name] for name in PUBLISHED_FACTS if name in facts}, "run_id": claim.run_id}
    files = {
        f"data/{claim.run_id}.parquet": parquet,
        f"{folder}/{PREDICTIONS}": predictions,
        f"{folder}/{FACTS}": _json(shown),
        record_path(claim.run_id): _json(record),
    }
    if logs := packed_logs(run / LOGS):
        files[f"{folder}/logs.tar.gz"] = logs
    return Publication(claim.run_id, files, record)


def _claims(row: Mapping[str, Any]) -> dict[str, str | None]:
    """Return the submitter's claims; values of the wrong kind are left out."""
    category = row["judge_category"] if row["judge_category"] in list(Category) else None
    try:
        judge = clean_name(row["judge_model"] or "") if category else None
    except ValueError:
        judge = None
    return {
        "claimed_status": row["status"],
        "claimed_core_status": row["core_status"],
        "claimed_judge_category": category,
        "claimed_judge_model": judge,
    }


def _choices(row: ResultRow) -> dict[str, Any]:
    """Count the altered and open choices, those implemented as the paper states, and those expected from guessing."""
    counted = counted_choices(row)
    return {
        "choices_counted": len(counted),
        "choices_stated": sum(choice["reading"] == STATED for choice in counted),
        "choices_chance": sum(1 / choice["options"] for choice in counted),
    }


def _cost(metadata: Mapping[str, Any] | None) -> float | None:
    """Return the cost of an answer in US dollars from the `metadata` of its prediction row; None if it states none."""
    cost: Any = (metadata or {}).get("cost_usd")
    is_number = isinstance(cost, int | float) and not isinstance(cost, bool)
    return float(cost) if is_number and 0 <= cost < MAX_COST_USD else None


def _json(value: Mapping[str, Any]) -> bytes:
    return (json.dumps(value, indent=2) + "\n").encode("ascii")
