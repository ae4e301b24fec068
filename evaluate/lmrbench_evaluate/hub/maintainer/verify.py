"""Verify a submission: repeat its predictions in Docker, with the published seeds and with secret ones, and compare.

A submitter can know the verdicts on the published seeds, so these must agree. The verdicts of the repeated run on all
seeds are published (`settle`).
"""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lmrbench_data.base.errors import ArgumentError
from lmrbench_data.base.progress import Progress
from lmrbench_data.dataset.load import load_rows
from lmrbench_data.dataset.rows import DatasetRow
from lmrbench_data.loader import NoConfigError, dataset_sha256
from lmrbench_data.tasks.task import CONFIGS

from ...runs.evaluation import RunSummary, evaluate
from ...runs.folder import RunFolder
from ...runs.settings import RunSettings
from ...sandbox import open_sandbox
from ..submitted_rows import row_key, row_name, shown, table_faults
from .claim import Claim
from .publication import is_memorised, published_status

#: Number of secret seeds of a verification, drawn for it alone.
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
        The summary of the run, and every row of the dataset by instance id.

    Raises:
        ArgumentError: the claim is on another dataset.
        InfraError: the Docker engine is not available.
    """
    config, rows = _claimed_rows(claim, dataset)
    folder = run_folder(claim, fresh_seeds)
    settings = RunSettings(out=folder, dataset=dataset, config=config, workers=workers, fresh_seeds=fresh_seeds)
    with open_sandbox("docker") as place:
        summary = evaluate(str(claim.predictions), settings, rows, place, progress)
    return summary, {row["instance_id"]: row for row in rows}


def _claimed_rows(claim: Claim, dataset: str) -> tuple[str, list[DatasetRow]]:
    """Return the configuration that a claim is on, and its rows.

    Raises:
        ArgumentError: the dataset has no configuration with the content that the claim names.
    """
    known = {}
    for config in CONFIGS:
        with contextlib.suppress(NoConfigError):
            rows = load_rows(dataset, config)
            known[config] = dataset_sha256(rows)[:12]
            if dataset_sha256(rows) == claim.dataset_sha256:
                return config, rows
    have, want = " and ".join(known.values()), claim.dataset_sha256[:12]
    problem = f"run {claim.run_id} is on {want}, and {dataset} is {have}; name the published one, org/name@vX.Y.Z"
    raise ArgumentError("dataset", problem)


def run_folder(claim: Claim, fresh_seeds: int = FRESH_SEEDS) -> Path:
    """Return the folder of the repeated run."""
    return claim.work_folder / f"run-{fresh_seeds}"


def differences(claim: Claim, run: Path, instances: Mapping[str, DatasetRow]) -> Iterator[str]:
    """Yield one line for each difference of the claim and the repeated run; verdicts on secret seeds may differ.

    Args:
        instances: every row of the dataset by instance id.
    """
    facts = RunFolder(run).facts
    shared = {
        "config": RunFolder(run).config,
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
    own = {row_key(row): row for row in RunFolder(run).rows()}
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
    """Return (level, claim, verdict) of the first level whose claim is wrong on all seeds and on the published ones."""
    for name in ("status", "core_status"):
        if theirs[name] not in (mine[name], published_status(mine, seeds, core=name == "core_status")):
            return "core_status " if name == "core_status" else "", str(theirs[name]), mine[name]
    return None


def count_memorised(run: Path) -> int:
    """Count the answers of the repeated run that pass on the published seeds and not on secret ones."""
    return sum(map(is_memorised, RunFolder(run).rows()))
