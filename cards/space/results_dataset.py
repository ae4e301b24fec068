"""Read the records of verified runs from the results dataset at one commit, and cache them.

`lmrbench space --from` writes records of local runs, which are shown in place of a dataset.

Only records that are new since the last request are fetched. A damaged record hides its run, and
is named; a fault of the Hub hides nothing: the last good state stays.
"""

import datetime
import re
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote

from base.names import PLAIN
from base.record import Record
from huggingface_hub import HfApi, constants, errors
from huggingface_hub.hf_api import RepoFile
from pydantic import ValidationError

#: The name of a repository on the Hub.
REPO = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}/[A-Za-z0-9][A-Za-z0-9._-]{0,95}")
#: The records, which maintainers write.
_RECORD = re.compile(r"verified/[^/]+\.json")
MAX_RECORD_BYTES = 32 * 1024 * 1024
MAX_FILES = 100_000
MAX_AGE_S = 300.0
#: The reload button asks the Hub again only after this time, so that clicks do not burden it.
MIN_AGE_S = 2.0

_HTTP_ERROR: type[Exception] = getattr(errors, "HTTPError", errors.HfHubHTTPError)
_FAULTS = (_HTTP_ERROR, errors.HfHubHTTPError, errors.HFValidationError, OSError)


@dataclass(frozen=True)
class Snapshot:
    """The results dataset at one commit.

    Attributes:
        repo: empty for local runs.
        sha: None if it has not been read yet.
        skipped: file → the reason why it is not shown.
        problem: the reason why it may be out of date, or empty.
    """

    repo: str
    sha: str | None = None
    read_at: str = ""
    records: tuple[Record, ...] = ()
    skipped: tuple[tuple[str, str], ...] = ()
    problem: str = ""

    @property
    def is_local(self) -> bool:
        """Whether these are local runs, which nobody has verified."""
        return not self.repo

    def link(self, kind: str, path: str) -> str:
        """Return the address of a file (`blob`, `resolve`) or folder (`tree`) at this commit."""
        return f"{constants.ENDPOINT}/datasets/{self.repo}/{kind}/{self.sha}/{path}"


def task_link(record: Record, instance: str) -> str:
    """Return the address of an instance in the dataset viewer; empty if it is not on the Hub."""
    repo = record.dataset.partition("@")[0]
    if not REPO.fullmatch(repo):
        return ""
    viewer = f"{constants.ENDPOINT}/datasets/{repo}/viewer/{record.config}/test"
    return f"{viewer}?q={quote(instance, safe='')}"


class ResultsDataset:
    """The results dataset as last read; safe for use by several threads."""

    def __init__(self, repo: str) -> None:
        self._api = HfApi(library_name="lmrbench-space")
        self._snapshot = Snapshot(repo)
        self._read_at = float("-inf")
        self._lock = threading.Lock()
        # The record, or its fault, by path and content hash: an immutable file is read once.
        self._known: dict[tuple[str, str], Record | str] = {}

    def get(self, *, reload: bool = False) -> Snapshot:
        """Return the state, read again if it is older than `MAX_AGE_S` or if `reload` is set."""
        with self._lock:
            if time.monotonic() - self._read_at > (MIN_AGE_S if reload else MAX_AGE_S):
                try:
                    self._snapshot = self._read()
                except _FAULTS as error:
                    self._snapshot = replace(self._snapshot, problem=_explain(error))
                # Set after reading, which may take long.
                self._read_at = time.monotonic()
            return self._snapshot

    def _read(self) -> Snapshot:
        sha = str(self._api.dataset_info(self._snapshot.repo).sha)
        if sha != self._snapshot.sha:
            return self._read_commit(self._snapshot.repo, sha)
        return replace(self._snapshot, read_at=_now(), problem="")

    def _read_commit(self, repo: str, sha: str) -> Snapshot:
        """Read the records of a commit that are new, and forget those that are gone."""
        known: dict[tuple[str, str], Record | str] = {}
        new: list[tuple[str, str]] = []
        for file in self._records(repo, sha):
            key = (file.path, file.blob_id)
            fault = _fault(file)
            if key in self._known:
                known[key] = self._known[key]
            elif fault:
                known[key] = fault
            else:
                new.append(key)
        if new:
            folder = self._download([path for path, _ in new], sha)
            known |= {key: _read_record(folder / key[0]) for key in new}
        self._known = known
        return _make_snapshot(repo, sha, {path: item for (path, _), item in sorted(known.items())})

    def _records(self, repo: str, sha: str) -> list[RepoFile]:
        """List the files of records at a commit."""
        tree = self._api.list_repo_tree(repo, repo_type="dataset", revision=sha, recursive=True)
        files = []
        for number, item in enumerate(tree):
            if number >= MAX_FILES:
                raise OSError(f"{repo} has more than {MAX_FILES} files")
            if isinstance(item, RepoFile) and _RECORD.fullmatch(item.path):
                files.append(item)
        return files

    def _download(self, paths: list[str], sha: str) -> Path:
        repo = self._snapshot.repo
        folder = self._api.snapshot_download(
            repo, repo_type="dataset", revision=sha, allow_patterns=paths
        )
        return Path(folder)


class LocalRuns:
    """The records in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(self, *, reload: bool = False) -> Snapshot:
        """Return the records as they are now."""
        paths = sorted(self._folder.glob("*.json"))
        return _make_snapshot("", "local", {path.name: _read_record(path) for path in paths})


def _fault(file: RepoFile) -> str:
    """Return why a record is not downloaded; empty if it is."""
    # A plain name has no character with a meaning in a pattern.
    if not PLAIN.fullmatch(Path(file.path).stem):
        return "not a plain run id"
    return "too large" if file.size > MAX_RECORD_BYTES else ""


def _make_snapshot(repo: str, sha: str, items: Mapping[str, Record | str]) -> Snapshot:
    """Return a snapshot of files, each with its record or the reason why it cannot be used."""
    records = tuple(item for item in items.values() if isinstance(item, Record))
    skipped = tuple((name, item) for name, item in items.items() if isinstance(item, str))
    return Snapshot(repo, sha, _now(), records, skipped)


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")


def _read_record(path: Path) -> Record | str:
    """Return a record, or the reason why it cannot be used, which repeats nothing of the file."""
    try:
        record = Record.model_validate_json(path.read_bytes())
    except ValidationError as error:
        place = ".".join(str(part) for part in error.errors()[0]["loc"][:2])
        return f"not a record of a verification ({place or 'not JSON'}); the run is not shown"
    return record if record.run_id == path.stem else "names another run; the run is not shown"


def _explain(error: Exception) -> str:
    """Return why the Hub could not be read, in one line that repeats nothing that it sent."""
    if isinstance(error, errors.RepositoryNotFoundError):
        return "the dataset does not exist or is private"
    if isinstance(error, errors.HFValidationError):
        return "LMRBENCH_RESULTS must have the form org/name"
    response = getattr(error, "response", None)
    if response is None:
        return "the Hub does not answer"
    return f"the Hub answered {response.status_code}"
