"""Read the records of verified runs from the results dataset at one commit, and cache them for some minutes.

`lmrbench space --from` writes records of local runs, which are shown in its place.

Only records that are new since the last request are fetched. A damaged record hides its run, and is named; a fault of
the Hub hides nothing: the last good state stays.
"""

import datetime
import re
import threading
import time
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
MAX_AGE_S = 300.0
#: The reload button asks the Hub again only after this time, so that clicks do not burden it.
MIN_AGE_S = 2.0
MAX_RECORD_BYTES = 32 * 1024 * 1024
MAX_FILES = 100_000

_HTTP_ERROR: type[Exception] = getattr(errors, "HTTPError", errors.HfHubHTTPError)


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
    """Return the address of an instance in the dataset viewer; empty if the run names no dataset on the Hub."""
    repo = record.dataset.partition("@")[0]
    place = f"{constants.ENDPOINT}/datasets/{repo}/viewer/{record.config}/test"
    return f"{place}?q={quote(instance, safe='')}" if REPO.fullmatch(repo) else ""


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
                except (
                    _HTTP_ERROR,
                    errors.HfHubHTTPError,
                    errors.HFValidationError,
                    OSError,
                ) as error:
                    self._snapshot = replace(self._snapshot, problem=_explain(error))
                # Set after reading, which may take long.
                self._read_at = time.monotonic()
            return self._snapshot

    def _read(self) -> Snapshot:
        repo = self._snapshot.repo
        sha = str(self._api.dataset_info(repo).sha)
        now = _now()
        if sha == self._snapshot.sha:
            return replace(self._snapshot, read_at=now, problem="")
        files: dict[str, RepoFile] = {}
        for item in self._api.list_repo_tree(
            repo, repo_type="dataset", revision=sha, recursive=True
        ):
            if isinstance(item, RepoFile):
                files[item.path] = item
            if len(files) > MAX_FILES:
                raise OSError(f"{repo} has more than {MAX_FILES} files")
        paths = {
            path: files[path].blob_id
            for path in files
            if re.fullmatch(r"verified/[^/]+\.json", path)
        }
        known: dict[tuple[str, str], Record | str] = {}
        for path, blob in paths.items():
            if (path, blob) in self._known:
                known[path, blob] = self._known[path, blob]
            elif not PLAIN.fullmatch(Path(path).stem):
                known[path, blob] = "not a plain run id"
            elif files[path].size > MAX_RECORD_BYTES:
                known[path, blob] = "too large"
        # A plain name has no character with a meaning in a pattern.
        if new := [path for path, blob in paths.items() if (path, blob) not in known]:
            folder = Path(
                self._api.snapshot_download(
                    repo, repo_type="dataset", revision=sha, allow_patterns=new
                )
            )
            known |= {(path, paths[path]): _read_record(folder / path) for path in new}
        self._known = known
        records = tuple(item for _, item in sorted(known.items()) if isinstance(item, Record))
        skipped = tuple(
            (path, item) for (path, _), item in sorted(known.items()) if isinstance(item, str)
        )
        return Snapshot(repo, sha, now, records, skipped)


class LocalRuns:
    """The records in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(self, *, reload: bool = False) -> Snapshot:
        """Return the records as they are now."""
        known = {path.name: _read_record(path) for path in sorted(self._folder.glob("*.json"))}
        records = tuple(item for item in known.values() if isinstance(item, Record))
        skipped = tuple((name, item) for name, item in known.items() if isinstance(item, str))
        return Snapshot("", "local", _now(), records, skipped)


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
    return (
        f"the Hub answered {response.status_code}"
        if response is not None
        else "the Hub does not answer"
    )
