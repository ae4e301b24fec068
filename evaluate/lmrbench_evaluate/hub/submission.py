"""Fetch an untrusted submission from its pull request at one commit.

Its author can push to the pull request at any time, so everything is read at the commit that was
its head. It may only add the files of one run, and their sizes are limited: the list of files is
checked before any is read. Predictions are evaluated again; the rest is shown, not believed.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lmrbench_data.base.errors import InputError
from lmrbench_data.base.hub_client import hub_errors
from lmrbench_data.base.jsonl import parse_row
from lmrbench_data.base.names import PLAIN
from lmrbench_data.base.paths import cache_folder

from ..runs.folder import FACTS, PREDICTIONS
from .layout import ALLOWED, MIB, HubFile, list_files, shown

if TYPE_CHECKING:
    from huggingface_hub import HfApi


@dataclass(frozen=True)
class Submission:
    """A fetched submission.

    Attributes:
        sha: the commit that is verified; later ones are ignored.
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
        """The folder of its evaluation: the same for the same state, to resume a verification."""
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
        base, head = _commits(api, repo_id, number)
        added = _added_files(where, list_files(api, repo_id, base), list_files(api, repo_id, head))
        run_id = _run_of(where, added)
        _check_files(where, added, run_id)
        files = _fetch(api, repo_id, head, added)
    dataset_sha256 = _read_dataset_sha256(where, files[FACTS], run_id)
    return Submission(repo_id, number, head, details.author, run_id, dataset_sha256, files)


def _fetch(api: "HfApi", repo_id: str, revision: str, paths: Iterable[str]) -> dict[str, Path]:
    """Download files; return name in the run's folder → local file."""
    files = {}
    for path in paths:
        local = api.hf_hub_download(repo_id, path, repo_type="dataset", revision=revision)
        files[Path(path).name] = Path(local)
    return files


def _commits(api: "HfApi", repo_id: str, number: int) -> tuple[str, str]:
    """Return the commit of main that a pull request starts from, and its newest commit."""
    main = {item.commit_id for item in api.list_repo_commits(repo_id, repo_type="dataset")}
    commits = api.list_repo_commits(repo_id, repo_type="dataset", revision=f"refs/pr/{number}")
    for item in commits:
        if item.commit_id in main:
            return item.commit_id, commits[0].commit_id
    raise InputError(f"{repo_id} PR {number}: has no commit in common with main")


def _added_files(
    where: str, before: Mapping[str, HubFile], after: Mapping[str, HubFile]
) -> dict[str, int]:
    """Return path → size of the files that a submission adds; it may do nothing else."""
    changed = before.items() - after.items()
    if changed:
        name, _ = min(changed)
        raise InputError(
            f"{where}: changes or deletes {shown(name)}; a submission only adds a run's files"
        )
    return {name: file.size for name, file in after.items() if name not in before}


def _run_of(where: str, added: Mapping[str, int]) -> str:
    """Return the run id of the added files, which have to be those of one run."""
    names = [name for name in added if re.fullmatch(r"runs/[^/]+/run\.json", name)]
    run_id = names[0].split("/")[1] if len(names) == 1 else ""
    if not PLAIN.fullmatch(run_id):
        raise InputError(
            f"{where}: adds {len(names)} files runs/<run id>/run.json;"
            " expected one, with a plain name"
        )
    predictions = f"runs/{run_id}/{PREDICTIONS}"
    if predictions not in added:
        raise InputError(f"{where}: lacks {predictions}")
    return run_id


def _check_files(where: str, added: Mapping[str, int], run_id: str) -> None:
    """Check that each added file is one of the run, and within its limit."""
    limits = {f"runs/{run_id}/{name}": limit for name, limit in ALLOWED.items()}
    for name, size in sorted(added.items()):
        if name not in limits:
            raise InputError(f"{where}: adds {shown(name)}, which does not belong to run {run_id}")
        if size > limits[name]:
            raise InputError(f"{where}: {name} is larger than {limits[name] // MIB} MiB")


def _read_dataset_sha256(where: str, path: Path, run_id: str) -> str:
    """Return the hash of the dataset that run.json states."""
    facts = parse_row(path.read_bytes(), {"run_id": str, "dataset_sha256": str})
    if facts is None:
        raise InputError(f"{where}: run.json: not the facts of a run")
    if facts["run_id"] != run_id:
        raise InputError(f"{where}: run.json: refers to a different run than {run_id}")
    return str(facts["dataset_sha256"])
