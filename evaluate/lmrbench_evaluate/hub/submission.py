"""Fetch an untrusted submission from its pull request at one commit, after checking the list of its files.

Its author can push to the pull request at any time, so everything is read at the commit that was its head. It may only
add the files of one run, and their sizes are limited. Predictions are evaluated again; the rest is shown, not believed.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lmrbench_data.base.errors import InputError
from lmrbench_data.base.hub_client import hub_errors
from lmrbench_data.base.names import PLAIN
from lmrbench_data.base.paths import cache_folder

from .layout import ALLOWED, MIB, NEEDED, list_files, shown

if TYPE_CHECKING:
    from huggingface_hub import HfApi


@dataclass(frozen=True)
class Submission:
    """A fetched submission.

    Attributes:
        sha: the verified commit of the pull request; later commits are ignored.
        author: the user who opened it.
        files: name in the run's folder → local file.
    """

    repo_id: str
    pull_request: int
    sha: str
    author: str
    run_id: str
    dataset_sha256: str
    files: dict[str, Path]

    @property
    def where(self) -> str:
        """Its name in messages."""
        return f"{self.repo_id} PR {self.pull_request}"

    @property
    def work_folder(self) -> Path:
        """The folder of its evaluation: the same for the same state, so that verification can be resumed."""
        name = f"{self.repo_id.replace('/', '--')}-{self.pull_request}-{self.sha[:12]}"
        return cache_folder() / "verify" / name


def fetch_submission(api: "HfApi", repo_id: str, number: int) -> Submission:
    """Check the files that a pull request adds at its newest commit, then fetch them."""
    where = f"{repo_id} PR {number}"
    with hub_errors(where):
        details = api.get_discussion_details(repo_id, number, repo_type="dataset")
        if not details.is_pull_request:
            raise InputError(f"{where}: is a discussion, not a pull request")
        if details.status != "open":
            raise InputError(f"{where}: is {details.status}, not open")
        on_main = {
            commit.commit_id for commit in api.list_repo_commits(repo_id, repo_type="dataset")
        }
        commits = api.list_repo_commits(repo_id, repo_type="dataset", revision=f"refs/pr/{number}")
        sha = commits[0].commit_id
        base = next((commit.commit_id for commit in commits if commit.commit_id in on_main), None)
        if base is None:
            raise InputError(f"{where}: has no commit in common with main")
        before, after = list_files(api, repo_id, base), list_files(api, repo_id, sha)
        run_id, names = _check_listing(where, before, after)
        files = {
            name: Path(
                api.hf_hub_download(
                    repo_id, f"runs/{run_id}/{name}", repo_type="dataset", revision=sha
                )
            )
            for name in names
        }
    try:
        facts = json.loads(files["run.json"].read_bytes())
        stated, dataset = facts["run_id"], facts["dataset_sha256"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise InputError(f"{where}: run.json: not the facts of a run") from None
    if stated != run_id or not isinstance(dataset, str):
        raise InputError(
            f"{where}: run.json: refers to a different run than {run_id}, or to no dataset"
        )
    return Submission(repo_id, number, sha, details.author, run_id, dataset, files)


def _check_listing(
    where: str, before: Mapping[str, tuple[str, int]], after: Mapping[str, tuple[str, int]]
) -> tuple[str, list[str]]:
    """Check that a submission adds the files of one run and does nothing else; return the run id and the names."""
    if changed := [name for name in before if before[name] != after.get(name)]:
        raise InputError(
            f"{where}: changes or deletes {shown(min(changed))}; a submission only adds a run's files"
        )
    added = {name: size for name, (_, size) in after.items() if name not in before}
    run_ids = [
        match[1] for name in added if (match := re.fullmatch(r"runs/([^/]+)/run\.json", name))
    ]
    if len(run_ids) != 1 or not PLAIN.fullmatch(run_ids[0]):
        raise InputError(
            f"{where}: adds {len(run_ids)} files runs/<run id>/run.json; expected one, with a plain name"
        )
    run_id = run_ids[0]
    limits = {f"runs/{run_id}/{name}": limit for name, limit in ALLOWED.items()}
    for name, size in sorted(added.items()):
        if name not in limits:
            raise InputError(f"{where}: adds {shown(name)}, which does not belong to run {run_id}")
        if size > limits[name]:
            raise InputError(f"{where}: {name} is larger than {limits[name] // MIB} MiB")
    names = [name for name in ALLOWED if f"runs/{run_id}/{name}" in added]
    if missing := [name for name in NEEDED if name not in names]:
        raise InputError(f"{where}: lacks runs/{run_id}/{missing[0]}")
    return run_id, names
