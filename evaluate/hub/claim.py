"""Fetch a submission from its pull request: an untrusted thing, of which the listing is looked at before anything else.

Only a run's own files may be added, sizes are limited, and nothing in them is used but as something to compare with.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import InputError
from ...hub import hub_errors
from ...paths import cache_folder
from ...text import one_line
from .submission import RUN_ID, read_rows

if TYPE_CHECKING:
    from huggingface_hub import HfApi

_MIB = 1024 * 1024
#: What a submission may add, with the largest size of each in bytes.
ALLOWED = {
    "data/{run_id}.parquet": 64 * _MIB,
    "runs/{run_id}/run.json": 1 * _MIB,
    "runs/{run_id}/predictions.jsonl": 256 * _MIB,
    "runs/{run_id}/judgements.jsonl": 256 * _MIB,
    "runs/{run_id}/logs.tar.gz": 32 * _MIB,
}
NEEDED = ("data/{run_id}.parquet", "runs/{run_id}/run.json", "runs/{run_id}/predictions.jsonl")


@dataclass(frozen=True)
class Claim:
    """A submission that was fetched.

    Attributes:
        sha: the commit of the pull request that is to be verified.
        head: the newest one, which is `sha`, or the record of a verification of it that did not come to its end.
        author: who opened it.
        rows: what it claims, one row a prediction.
        predictions: the file to evaluate.
    """

    repo_id: str
    pull_request: int
    sha: str
    head: str
    author: str
    run_id: str
    dataset_sha256: str
    rows: list[dict[str, Any]]
    parquet_sha256: str
    predictions: Path

    @property
    def work_folder(self) -> Path:
        """Where it is evaluated again: the same place for the same state, so that verification can be resumed."""
        return cache_folder() / "verify" / f"{self.run_id}-{self.sha[:12]}"


def fetch_claim(api: "HfApi", repo_id: str, number: int) -> Claim:
    """Look at what a pull request adds, then fetch it.

    Raises:
        InputError: not an open submission, or it does something that a submission may not.
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
        on_main = {commit.commit_id for commit in api.list_repo_commits(repo_id, repo_type="dataset")}
        commits = api.list_repo_commits(repo_id, repo_type="dataset", revision=revision)
        head = sha = commits[0].commit_id
        # The record of a stopped verification carries the commit it is for; anybody can write such a title, so that
        # `verify.accept` looks at what is in it.
        if len(commits) > 1 and commits[0].title.endswith(f"[{commits[1].commit_id[:12]}]"):
            sha = commits[1].commit_id
        base = next((commit.commit_id for commit in commits if commit.commit_id in on_main), None)
        if base is None:
            raise InputError(f"{where}: has no commit in common with main")
        before, after = list_files(api, repo_id, base), list_files(api, repo_id, sha)
    run_id = _check_listing(where, before, after)
    contents = {name: fetch(api, repo_id, name.format(run_id=run_id), sha) for name in NEEDED}
    parquet = contents["data/{run_id}.parquet"].read_bytes()
    claimed = read_rows(parquet, f"{where}: data/{run_id}.parquet")
    facts = read_object(contents["runs/{run_id}/run.json"], f"{where}: run.json")
    if {row["run_id"] for row in claimed} != {run_id} or facts.get("run_id") != run_id:
        raise InputError(f"{where}: rows and run.json name other runs than {run_id}")
    dataset = {str(row["dataset_sha256"]) for row in claimed} | {str(facts.get("dataset_sha256"))}
    if len(dataset) != 1:
        raise InputError(f"{where}: names more than one dataset")
    predictions = contents["runs/{run_id}/predictions.jsonl"]
    sha256 = hashlib.sha256(parquet).hexdigest()
    return Claim(repo_id, number, sha, head, details.author, run_id, dataset.pop(), claimed, sha256, predictions)


def list_files(api: "HfApi", repo_id: str, revision: str) -> dict[str, tuple[str, int]]:
    """Path → (hash of the content, size in bytes) of the files of a revision."""
    from huggingface_hub.hf_api import RepoFile

    tree = api.list_repo_tree(repo_id, repo_type="dataset", revision=revision, recursive=True)
    return {item.path: (item.blob_id, item.size) for item in tree if isinstance(item, RepoFile)}


def _check_listing(where: str, before: Mapping[str, tuple[str, int]], after: Mapping[str, tuple[str, int]]) -> str:
    """The run id, if a submission adds files of one run and does nothing else."""
    if changed := [name for name in before if before[name] != after.get(name)]:
        raise InputError(f"{where}: changes or deletes {shown(min(changed))}; a submission only adds a run's files")
    added = {name: size for name, (_, size) in after.items() if name not in before}
    found = [match[1] for name in added if (match := re.fullmatch(r"data/([^/]+)\.parquet", name))]
    if len(found) != 1 or not RUN_ID.fullmatch(found[0]):
        raise InputError(f"{where}: adds {len(found)} files data/<run id>.parquet; one is needed, with a plain name")
    run_id = found[0]
    limits = {name.format(run_id=run_id): limit for name, limit in ALLOWED.items()}
    for name, size in sorted(added.items()):
        if name not in limits:
            raise InputError(f"{where}: adds {shown(name)}, which does not belong to run {run_id}")
        if size > limits[name]:
            raise InputError(f"{where}: {name} is larger than {limits[name] // _MIB} MiB")
    if missing := [name.format(run_id=run_id) for name in NEEDED if name.format(run_id=run_id) not in added]:
        raise InputError(f"{where}: lacks {missing[0]}")
    return run_id


def fetch(api: "HfApi", repo_id: str, name: str, sha: str) -> Path:
    """A file of a revision, in the Hub client's cache.

    Raises:
        InputError, LostAnswer: see `lmrbench_data.hub.hub_errors`.
    """
    with hub_errors(f"{repo_id}: {name}"):
        return Path(api.hf_hub_download(repo_id, name, repo_type="dataset", revision=sha))


def read_object(path: Path, where: str) -> dict[str, Any]:
    """The JSON object in a file.

    Raises:
        InputError: it holds something else.
    """
    try:
        facts = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        facts = None
    if not isinstance(facts, dict):
        raise InputError(f"{where} is not a JSON object")
    return facts


def shown(text: Any) -> str:
    """What a submission says, short enough for a line and without what no reader can see."""
    return one_line(text)[:120]
