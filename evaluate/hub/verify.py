"""Verify a submission: evaluate its predictions again, compare verdict by verdict, and only then merge it.

What is merged is what was verified: the record is committed upon the very state that was evaluated. A verification that
was stopped in between is resumed.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import ArgumentError
from ...hub import Conflict, additions, commit_once, hub_errors, persist
from ...loader import dataset_sha256, load_rows
from ...paths import cards_folder
from ...progress import Progress
from ...times import now
from ...version import __version__
from ..runs.evaluate import RunSettings, RunSummary, evaluate
from ..runs.folder import read_facts, read_results
from ..sandbox import open_sandbox
from .claim import Claim, fetch, list_files, read_object, shown

if TYPE_CHECKING:
    from huggingface_hub import HfApi

#: Of a comment on the Hub.
MAX_DIFFERENCES = 50


def repeat(
    claim: Claim, dataset: str, *, workers: int = 2, progress: Progress | None = None
) -> tuple[RunSummary, list[str]]:
    """Evaluate the predictions of a claim again in Docker; a stopped evaluation is resumed.

    Returns:
        What the run came to, and every instance of the dataset.

    Raises:
        InputError: the claim is on another dataset.
        InfraError: no Docker engine.
    """
    rows = load_rows(dataset)
    if dataset_sha256(rows) != claim.dataset_sha256:
        have, want = dataset_sha256(rows)[:12], claim.dataset_sha256[:12]
        problem = f"run {claim.run_id} is on {want}, and {dataset} is {have}; name the published one, org/name@vX.Y.Z"
        raise ArgumentError("dataset", problem)
    settings = RunSettings(claim.work_folder, dataset=dataset, workers=workers)
    with open_sandbox("docker") as place:
        return evaluate(str(claim.predictions), settings, rows, place, progress), [row["instance_id"] for row in rows]


def differences(claim: Claim, run: Path, instances: Sequence[str]) -> Iterator[str]:
    """Where the claimed rows and the results of the repeated run disagree, a line each.

    Args:
        instances: every instance of the dataset.
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
    own = {_key(row): row for row in read_results(run)}
    claimed: dict[Any, dict[str, Any]] = {}
    for row in claim.rows:
        if _key(row) in claimed:
            yield f"{_name(row)}: claimed twice"
        claimed[_key(row)] = row
    for key in sorted(own.keys() | claimed.keys(), key=str):
        mine, theirs = own.get(key), claimed.get(key)
        if mine is None or theirs is None:
            yield f"{_name(mine or theirs)}: {'not among the predictions' if mine is None else 'not claimed'}"
        elif mine["prediction_sha256"] != theirs["prediction_sha256"]:
            yield f"{_name(mine)}: claimed for another prediction"
        elif mine["status"] != theirs["status"]:
            yield f"{_name(mine)}: claimed {shown(theirs['status'])}, is {mine['status']}"
        elif theirs["category"] != mine["category"]:
            yield f"{_name(mine)}: claimed in category {shown(theirs['category'])}, is in {mine['category']}"


def _key(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return row["instance_id"], row["model_name_or_path"], row["setting"], row["sample"]


def _name(row: Mapping[str, Any] | None) -> str:
    assert row is not None
    setting = f" ({shown(row['setting'])})" if row["setting"] else ""
    return f"{shown(row['instance_id'])}, {shown(row['model_name_or_path'])}{setting}, sample {row['sample']}"


def accept(api: "HfApi", claim: Claim, judge_verified: bool = False) -> str:
    """Commit the record upon the state that was verified, merge, and look that exactly this was merged.

    Returns:
        The path of the record.

    Raises:
        Conflict: the pull request has changed since it was fetched.
        InputError, LostAnswer: see `lmrbench_data.hub.hub_errors`.
    """
    where = f"{claim.repo_id} PR {claim.pull_request}"
    revision = f"refs/pr/{claim.pull_request}"
    path = f"verified/{claim.run_id}.json"
    with hub_errors(where):
        record = {
            "run_id": claim.run_id,
            "parquet_sha256": claim.parquet_sha256,
            "verified_at": now(),
            "verified_by": api.whoami()["name"],
            "harness_version": __version__,
            "dataset_sha256": claim.dataset_sha256,
            "rows": len(claim.rows),
            "agreed": len(claim.rows),
            "judge_verified": judge_verified,
        }
    files = {path: (json.dumps(record, indent=2) + "\n").encode()}
    with hub_errors(where):
        if not api.file_exists(claim.repo_id, "README.md", repo_type="dataset"):
            files["README.md"] = (cards_folder() / "results_card.md").read_bytes()
    if claim.head != claim.sha:
        _check_recorded(api, claim, record, files)
    else:
        commit_once(
            api,
            claim.repo_id,
            lambda: additions(files),
            title=f"Verified {claim.run_id} [{claim.sha[:12]}]",
            parent_commit=claim.sha,
            revision=revision,
        )

    def merge() -> bool:
        with hub_errors(where):
            api.merge_pull_request(claim.repo_id, claim.pull_request, repo_type="dataset")
        return True

    def merged() -> bool | None:
        with hub_errors(where):
            status = api.get_discussion_details(claim.repo_id, claim.pull_request, repo_type="dataset").status
        return True if status == "merged" else None

    persist(merge, merged)
    parquet = fetch(api, claim.repo_id, f"data/{claim.run_id}.parquet", "main").read_bytes()
    if hashlib.sha256(parquet).hexdigest() != claim.parquet_sha256:
        # The record names the content it is for: other content is shown as unverified.
        raise Conflict(f"{where}: was changed while it was merged; {claim.run_id} is not verified, look at it by hand")
    return path


def _check_recorded(api: "HfApi", claim: Claim, record: Mapping[str, Any], files: Mapping[str, bytes]) -> None:
    """That an earlier verification recorded just what this one would: a submitter can give a commit any title."""
    where = f"{claim.repo_id} PR {claim.pull_request}"
    with hub_errors(where):
        before, after = (list_files(api, claim.repo_id, revision) for revision in (claim.sha, claim.head))
    changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    path, *others = files
    if changed != set(files):
        raise Conflict(f"{where}: has changed since {claim.sha[:12]}; ask the submitter to open a new one")
    found = read_object(fetch(api, claim.repo_id, path, claim.head), f"{where}: {path}")
    same = {**found, "verified_at": None} == {**record, "verified_at": None}
    if not same or any(fetch(api, claim.repo_id, name, claim.head).read_bytes() != files[name] for name in others):
        raise Conflict(f"{where}: {path} does not belong to this verification; ask the submitter to open a new one")


def reject(api: "HfApi", claim: Claim, found: Sequence[str]) -> None:
    """Say on the pull request where the verdicts differ.

    Raises:
        InputError, LostAnswer: see `lmrbench_data.hub.hub_errors`.
    """
    lines = "\n".join(f"    {line}" for line in found[:MAX_DIFFERENCES])
    more = f"\n\n{len(found) - MAX_DIFFERENCES} more." if len(found) > MAX_DIFFERENCES else ""
    text = f"`lmrbench verify` came to other verdicts at {claim.sha[:12]}:\n\n{lines}{more}"
    with hub_errors(f"{claim.repo_id} PR {claim.pull_request}"):
        api.comment_discussion(claim.repo_id, claim.pull_request, text, repo_type="dataset")
