"""Verify a submission: repeat its predictions in Docker, with the published seeds and with secret ones, and compare.

A submitter can know the verdicts on the published seeds, so those must agree. What is published (`settle`) are the
verdicts of the repeated run on all seeds.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...errors import ArgumentError
from ...loader import dataset_sha256, load_rows
from ...progress import Progress
from ...rows import DatasetRow
from ..runs.evaluate import RunSettings, RunSummary, evaluate
from ..runs.results import read_facts, read_results
from ..sandbox import open_sandbox
from .claim import Claim
from .publication import is_memorised, published_status
from .submission import row_key, row_name, shown, table_faults

#: Secret seeds of a verification, drawn for it alone.
FRESH_SEEDS = 2


def repeat(
    claim: Claim,
    dataset: str,
    *,
    workers: int = 2,
    fresh_seeds: int = FRESH_SEEDS,
    progress: Progress | None = None,
) -> tuple[RunSummary, dict[str, DatasetRow]]:
    """Evaluate the predictions of a claim again in Docker; a stopped evaluation is resumed, with the same seeds.

    Returns:
        What the run came to, and every row of the dataset by instance id.

    Raises:
        InputError: the claim is on another dataset.
        InfraError: no Docker engine.
    """
    rows = load_rows(dataset)
    if dataset_sha256(rows) != claim.dataset_sha256:
        have, want = dataset_sha256(rows)[:12], claim.dataset_sha256[:12]
        problem = f"run {claim.run_id} is on {want}, and {dataset} is {have}; name the published one, org/name@vX.Y.Z"
        raise ArgumentError("dataset", problem)
    folder = run_folder(claim, fresh_seeds)
    settings = RunSettings(folder, dataset=dataset, workers=workers, fresh_seeds=fresh_seeds)
    with open_sandbox("docker") as place:
        summary = evaluate(str(claim.predictions), settings, rows, place, progress)
    return summary, {row["instance_id"]: row for row in rows}


def run_folder(claim: Claim, fresh_seeds: int = FRESH_SEEDS) -> Path:
    """The folder of the repeated run."""
    return claim.work_folder / f"run-{fresh_seeds}"


def differences(claim: Claim, run: Path, instances: Mapping[str, DatasetRow]) -> Iterator[str]:
    """Where the claim and the repeated run disagree, a line each; verdicts on secret seeds are not held against it.

    Args:
        instances: every row of the dataset by instance id.
    """
    facts = read_facts(run)
    shared = {
        "benchmark_version": facts["benchmark_version"],
        "sandbox": facts["sandbox"],
        "submitted_by": claim.author,
        "scope_size": len(instances),
    }
    for name, value in shared.items():
        if wrong := {row[name] for row in claim.rows} - {value}:
            yield f"{name}: claimed {shown(min(map(str, wrong)))}, is {shown(value)}"
    yield from (f"prediction {shown(Path(bad).name)}" for bad in facts.get("bad_rows", []))
    yield from table_faults(claim.rows)
    own = {row_key(row): row for row in read_results(run)}
    claimed: dict[Any, dict[str, Any]] = {}
    for row in claim.rows:
        if row_key(row) in claimed:
            yield f"{row_name(row)}: claimed twice"
        claimed[row_key(row)] = row
    for key in sorted(own.keys() | claimed.keys(), key=str):
        mine, theirs = own.get(key), claimed.get(key)
        if mine is None or theirs is None:
            yield f"{row_name(mine or theirs)}: {'not among the predictions' if mine is None else 'not claimed'}"
        elif mine["prediction_sha256"] != theirs["prediction_sha256"]:
            yield f"{row_name(mine)}: claimed for another prediction"
        elif wrong_level := _wrong_level(mine, theirs, instances[mine["instance_id"]]["tests"]["seeds"]):
            level, claimed_as, is_ = wrong_level
            yield f"{row_name(mine)}: claimed {level}{shown(claimed_as)}, is {is_}"
        elif theirs["category"] != mine["category"]:
            yield f"{row_name(mine)}: claimed in category {shown(theirs['category'])}, is in {mine['category']}"


def _wrong_level(mine: Any, theirs: Mapping[str, Any], seeds: Sequence[int]) -> tuple[str, str, str] | None:
    """(level, claim, verdict) of the first level where a claim is neither the verdict nor that on published seeds."""
    for name in ("status", "core_status"):
        if theirs[name] not in (mine[name], published_status(mine, seeds, core=name == "core_status")):
            return "core_status " if name == "core_status" else "", str(theirs[name]), mine[name]
    return None


def count_memorised(run: Path) -> int:
    """How many answers of the repeated run pass on the published seeds and not on secret ones, at some level."""
    return sum(map(is_memorised, read_results(run)))
