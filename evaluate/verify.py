"""Verify a submission: evaluate its predictions again, compare verdict by verdict, and only then merge it.

A submission is untrusted: its files are listed before anything is fetched, only a run's own files may be added, sizes
are limited, and nothing it claims is used but as something to compare with. What is merged is what was verified: the
record is committed upon the very state that was evaluated.
"""

import datetime
import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmrbench_data.errors import InputError
from lmrbench_data.evaluate.run_folder import read_facts, read_results
from lmrbench_data.evaluate.submission import RUN_ID, read_rows
from lmrbench_data.hub import Conflict, hub_errors, persist
from lmrbench_data.paths import cache_folder, cards_folder
from lmrbench_data.text import one_line
from lmrbench_data.version import __version__

if TYPE_CHECKING:
    from huggingface_hub import HfApi

#: What a submission may add, with the largest size of each in bytes.
_MIB = 1024 * 1024
ALLOWED = {
    "data/{run_id}.parquet": 64 * _MIB,
    "runs/{run_id}/run.json": 1 * _MIB,
    "runs/{run_id}/predictions.jsonl": 256 * _MIB,
    "runs/{run_id}/judgements.jsonl": 256 * _MIB,
    "runs/{run_id}/logs.tar.gz": 32 * _MIB,
}
NEEDED = ("data/{run_id}.parquet", "runs/{run_id}/run.json", "runs/{run_id}/predictions.jsonl")
#: Of a comment on the Hub.
MAX_DIFFERENCES = 50


@dataclass(frozen=True)
class Claim:
    """A submission that was fetched.

    Attributes:
        sha: the commit of the pull request that was looked at.
        author: who opened it.
        rows: what it claims, one row a prediction.
        predictions: the file to evaluate.
    """

    repo_id: str
    pull_request: int
    sha: str
    author: str
    run_id: str
    dataset_sha256: str
    rows: list[dict[str, Any]]
    parquet_sha256: str
    predictions: Path

    @property
    def work_folder(self) -> Path:
        """Where it is evaluated again: the same place for the same state, so that a stopped verification goes on."""
        return cache_folder() / "verify" / f"{self.run_id}-{self.sha[:12]}"


def fetch_claim(api: "HfApi", repo_id: str, number: int) -> Claim:
    """Look at what a pull request adds, then fetch it.

    Raises:
        InputError: it is no open submission, or does what a submission may not; the reason is named.
        LostAnswer: the Hub does not answer.
    """
    where = f"{repo_id} PR {number}"
    with hub_errors(where):
        details = api.get_discussion_details(repo_id, number, repo_type="dataset")
        if not details.is_pull_request:
            raise InputError(f"{where}: is a discussion, not a pull request")
        if details.status != "open":
            raise InputError(f"{where}: is {details.status}, not open")
        revision = f"refs/pr/{number}"
        sha = str(api.dataset_info(repo_id, revision=revision).sha)
        on_main = {commit.commit_id for commit in api.list_repo_commits(repo_id, repo_type="dataset")}
        commits = api.list_repo_commits(repo_id, repo_type="dataset", revision=revision)
        base = next((commit.commit_id for commit in commits if commit.commit_id in on_main), None)
        if base is None:
            raise InputError(f"{where}: has no commit in common with main")
        before, after = _listing(api, repo_id, base), _listing(api, repo_id, sha)
    run_id = _check_listing(where, before, after)
    contents = {name: _fetch(api, repo_id, name.format(run_id=run_id), sha) for name in NEEDED}
    parquet = contents["data/{run_id}.parquet"].read_bytes()
    claimed = read_rows(parquet, f"{where}: data/{run_id}.parquet")
    facts = _read_facts(contents["runs/{run_id}/run.json"], where)
    if {row["run_id"] for row in claimed} != {run_id} or facts.get("run_id") != run_id:
        raise InputError(f"{where}: rows and run.json name other runs than {run_id}")
    dataset = {str(row["dataset_sha256"]) for row in claimed} | {str(facts.get("dataset_sha256"))}
    if len(dataset) != 1:
        raise InputError(f"{where}: names more than one dataset")
    predictions = contents["runs/{run_id}/predictions.jsonl"]
    sha256 = hashlib.sha256(parquet).hexdigest()
    return Claim(repo_id, number, sha, details.author, run_id, dataset.pop(), claimed, sha256, predictions)


def _listing(api: "HfApi", repo_id: str, revision: str) -> dict[str, tuple[str, int]]:
    from huggingface_hub.hf_api import RepoFile

    tree = api.list_repo_tree(repo_id, repo_type="dataset", revision=revision, recursive=True)
    return {item.path: (item.blob_id, item.size) for item in tree if isinstance(item, RepoFile)}


def _check_listing(where: str, before: Mapping[str, tuple[str, int]], after: Mapping[str, tuple[str, int]]) -> str:
    """The run id, if a submission adds files of one run and does nothing else."""
    if changed := [name for name in before if before[name] != after.get(name)]:
        raise InputError(f"{where}: changes or deletes {_shown(min(changed))}; a submission only adds a run's files")
    added = {name: size for name, (_, size) in after.items() if name not in before}
    found = [match[1] for name in added if (match := re.fullmatch(r"data/([^/]+)\.parquet", name))]
    if len(found) != 1 or not RUN_ID.fullmatch(found[0]):
        raise InputError(f"{where}: adds {len(found)} files data/<run id>.parquet; one is needed, with a plain name")
    run_id = found[0]
    limits = {name.format(run_id=run_id): limit for name, limit in ALLOWED.items()}
    for name, size in sorted(added.items()):
        if name not in limits:
            raise InputError(f"{where}: adds {_shown(name)}, which is no file of run {run_id}")
        if size > limits[name]:
            raise InputError(f"{where}: {name} is larger than {limits[name] // _MIB} MiB")
    if missing := [name.format(run_id=run_id) for name in NEEDED if name.format(run_id=run_id) not in added]:
        raise InputError(f"{where}: lacks {missing[0]}")
    return run_id


def _fetch(api: "HfApi", repo_id: str, name: str, sha: str) -> Path:
    with hub_errors(f"{repo_id}: {name}"):
        return Path(api.hf_hub_download(repo_id, name, repo_type="dataset", revision=sha))


def _read_facts(path: Path, where: str) -> dict[str, Any]:
    try:
        facts = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        facts = None
    if not isinstance(facts, dict):
        raise InputError(f"{where}: run.json is not a JSON object")
    return facts


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
            yield f"{name}: claimed {_shown(min(map(str, wrong)))}, is {_shown(value)}"
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
            yield f"{_name(mine)}: claimed {_shown(theirs['status'])}, is {mine['status']}"
        elif theirs["category"] != mine["category"]:
            yield f"{_name(mine)}: claimed in category {_shown(theirs['category'])}, is in {mine['category']}"


def _key(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return row["instance_id"], row["model_name_or_path"], row["setting"], row["sample"]


def _name(row: Mapping[str, Any] | None) -> str:
    assert row is not None
    setting = f" ({_shown(row['setting'])})" if row["setting"] else ""
    return f"{_shown(row['instance_id'])}, {_shown(row['model_name_or_path'])}{setting}, sample {row['sample']}"


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
            "verified_at": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
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

    def commit() -> bool:
        from huggingface_hub import CommitOperationAdd

        with hub_errors(where):
            api.create_commit(
                claim.repo_id,
                [CommitOperationAdd(name, content) for name, content in files.items()],
                commit_message=f"Verified {claim.run_id} [{claim.sha[:12]}]",
                parent_commit=claim.sha,
                revision=revision,
                repo_type="dataset",
            )
        return True

    def committed() -> bool | None:
        with hub_errors(where):
            head = api.list_repo_commits(claim.repo_id, repo_type="dataset", revision=revision)[:2]
        return True if [item.title for item in head][:1] == [f"Verified {claim.run_id} [{claim.sha[:12]}]"] else None

    def merge() -> bool:
        with hub_errors(where):
            api.merge_pull_request(claim.repo_id, claim.pull_request, repo_type="dataset")
        return True

    def merged() -> bool | None:
        with hub_errors(where):
            status = api.get_discussion_details(claim.repo_id, claim.pull_request, repo_type="dataset").status
        return True if status == "merged" else None

    committed() or persist(commit, committed)
    persist(merge, merged)
    parquet = _fetch(api, claim.repo_id, f"data/{claim.run_id}.parquet", "main").read_bytes()
    if hashlib.sha256(parquet).hexdigest() != claim.parquet_sha256:
        # The record names the content it is for: other content is shown as unverified.
        raise Conflict(f"{where}: was changed while it was merged; {claim.run_id} is not verified, look at it by hand")
    return path


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


def _shown(text: Any) -> str:
    return one_line(text)[:120]
