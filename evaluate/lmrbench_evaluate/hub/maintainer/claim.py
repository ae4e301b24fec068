"""Fetch an untrusted submission from its pull request at one commit, after checking the list of its files.

Its author can push to the pull request at any time, so everything is read at the commit that was its head. It may only
add a run's own files, their sizes are limited, and their content only serves for comparison.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmrbench_data.base.errors import InputError
from lmrbench_data.base.hub_session import hub_errors
from lmrbench_data.base.limited_reader import Reader, UnreadableError
from lmrbench_data.base.names import PLAIN
from lmrbench_data.base.paths import cache_folder

from ..layout import ALLOWED, MIB, fetch, list_files
from ..submitted_rows import read_rows, shown

if TYPE_CHECKING:
    from huggingface_hub import HfApi

NEEDED = ("data/{run_id}.parquet", "runs/{run_id}/run.json", "runs/{run_id}/predictions.jsonl")


@dataclass(frozen=True)
class Claim:
    """A fetched submission.

    Attributes:
        sha: the verified commit of the pull request; later commits are ignored.
        author: the user who opened it.
        rows: its claims, one row per prediction.
        predictions: the file to evaluate.
    """

    repo_id: str
    pull_request: int
    sha: str
    author: str
    run_id: str
    dataset_sha256: str
    rows: list[dict[str, Any]]
    predictions: Path

    @property
    def where(self) -> str:
        """Its name in messages."""
        return f"{self.repo_id} PR {self.pull_request}"

    @property
    def work_folder(self) -> Path:
        """The folder of its evaluation: the same for the same state, so that verification can be resumed."""
        name = f"{self.repo_id.replace('/', '--')}-{self.pull_request}-{self.sha[:12]}"
        return cache_folder() / "verify" / name


def fetch_claim(api: "HfApi", repo_id: str, number: int) -> Claim:
    """Check the files that a pull request adds at its newest commit, then fetch them.

    Raises:
        InputError: it is not an open submission, or changes more than a submission may.
        LostAnswerError: the Hub does not answer.
    """
    where = f"{repo_id} PR {number}"
    with hub_errors(where):
        details = api.get_discussion_details(repo_id, number, repo_type="dataset")
        if not details.is_pull_request:
            raise InputError(f"{where}: is a discussion, not a pull request")
        if details.status != "open":
            raise InputError(f"{where}: is {details.status}, not open")
        on_main = {commit.commit_id for commit in api.list_repo_commits(repo_id, repo_type="dataset")}
        commits = api.list_repo_commits(repo_id, repo_type="dataset", revision=f"refs/pr/{number}")
        sha = commits[0].commit_id
        base = next((commit.commit_id for commit in commits if commit.commit_id in on_main), None)
        if base is None:
            raise InputError(f"{where}: has no commit in common with main")
        before, after = list_files(api, repo_id, base), list_files(api, repo_id, sha)
    run_id = _check_listing(where, before, after)
    parquet, facts, predictions = (fetch(api, repo_id, name.format(run_id=run_id), sha) for name in NEEDED)
    claimed = read_rows(parquet, f"{where}: data/{run_id}.parquet")
    named = _read_facts(facts, f"{where}: run.json")
    if {row["run_id"] for row in claimed} != {run_id} or named["run_id"] != run_id:
        raise InputError(f"{where}: rows and run.json name other runs than {run_id}")
    dataset = {str(row["dataset_sha256"]) for row in claimed} | {str(named["dataset_sha256"])}
    if len(dataset) != 1:
        raise InputError(f"{where}: names more than one dataset")
    with predictions.open("rb") as file:
        lines = sum(1 for _ in file)
    if lines != len(claimed):
        raise InputError(f"{where}: claims {len(claimed)} rows for {lines} predictions")
    return Claim(repo_id, number, sha, details.author, run_id, dataset.pop(), claimed, predictions)


def _check_listing(where: str, before: Mapping[str, tuple[str, int]], after: Mapping[str, tuple[str, int]]) -> str:
    """Check that a submission adds the files of one run and does nothing else; return the run id."""
    if changed := [name for name in before if before[name] != after.get(name)]:
        raise InputError(f"{where}: changes or deletes {shown(min(changed))}; a submission only adds a run's files")
    added = {name: size for name, (_, size) in after.items() if name not in before}
    found = [match[1] for name in added if (match := re.fullmatch(r"data/([^/]+)\.parquet", name))]
    if len(found) != 1 or not PLAIN.fullmatch(found[0]):
        raise InputError(f"{where}: adds {len(found)} files data/<run id>.parquet; one is needed, with a plain name")
    run_id = found[0]
    limits = {name.format(run_id=run_id): limit for name, limit in ALLOWED.items()}
    for name, size in sorted(added.items()):
        if name not in limits:
            raise InputError(f"{where}: adds {shown(name)}, which does not belong to run {run_id}")
        if size > limits[name]:
            raise InputError(f"{where}: {name} is larger than {limits[name] // MIB} MiB")
    if missing := [name.format(run_id=run_id) for name in NEEDED if name.format(run_id=run_id) not in added]:
        raise InputError(f"{where}: lacks {missing[0]}")
    return run_id


def _read_facts(path: Path, where: str) -> dict[str, str | None]:
    try:
        with Reader() as reader:
            return reader.json_texts(path, ("run_id", "dataset_sha256"), max_bytes=MIB)
    except UnreadableError as error:
        raise InputError(f"{where}: {error}") from error
