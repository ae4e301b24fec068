"""Read the records of verified runs from the results dataset at one commit, and cache them.

`lmrbench space --from` writes records of local runs, which are shown in place of a dataset.

Only records that are new since the last request are downloaded. A damaged record hides its run, and
is named; a fault of the Hub hides nothing: the last good state stays.
"""

import datetime
import re
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote

from base.names import PLAIN
from base.record import Record
from huggingface_hub import HfApi, constants, errors
from pydantic import ValidationError

#: The name of a repository on the Hub.
REPO = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}/[A-Za-z0-9][A-Za-z0-9._-]{0,95}")
#: Path of a record.
_RECORD = re.compile(r"verified/[^/]+\.json")
MAX_RECORD_BYTES = 32 * 1024 * 1024
#: A state older than this is read again.
MAX_AGE_S = 300.0
#: The reload button asks the Hub again only after this time, so that clicks do not burden it.
MIN_AGE_S = 2.0

# A dropped connection raises the HTTP library's own error.
_HTTP_ERROR: type[Exception] = getattr(errors, "HTTPError", errors.HfHubHTTPError)
# A failed download by Xet is a RuntimeError.
_FAULTS = (_HTTP_ERROR, errors.HfHubHTTPError, errors.HFValidationError, OSError, RuntimeError)


@dataclass(frozen=True)
class Snapshot:
    """The results dataset at one commit.

    Attributes:
        repo: empty for local runs.
        sha: the commit; None if none has been read yet.
        skipped: files that are not shown, each with the reason.
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

    def get(self, *, reload: bool = False) -> Snapshot:
        """Return the last state; read it again if it is too old, sooner if `reload` is set."""
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
        repo = self._snapshot.repo
        info = self._api.dataset_info(repo)
        if info.sha == self._snapshot.sha:
            return replace(self._snapshot, read_at=_now(), problem="")
        # The client's cache has the records of earlier commits.
        folder = self._api.snapshot_download(
            repo, repo_type="dataset", revision=info.sha, allow_patterns="verified/*.json"
        )
        names = filter(_RECORD.fullmatch, (item.rfilename for item in info.siblings or ()))
        return _make_snapshot(repo, str(info.sha), Path(folder), names)


class LocalRuns:
    """The records in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(self, *, reload: bool = False) -> Snapshot:
        """Return the records as they are now."""
        names = (path.name for path in self._folder.glob("*.json"))
        return _make_snapshot("", "local", self._folder, names)


def _make_snapshot(repo: str, sha: str, folder: Path, names: Iterable[str]) -> Snapshot:
    """Read the files of a snapshot; each is a record, or skipped for a reason."""
    items = {name: _read_record(folder / name) for name in sorted(names)}
    records = tuple(item for item in items.values() if isinstance(item, Record))
    skipped = tuple((name, item) for name, item in items.items() if isinstance(item, str))
    return Snapshot(repo, sha, _now(), records, skipped)


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")


def _read_record(path: Path) -> Record | str:
    """Return a record, or the reason why it cannot be used, which repeats nothing of the file."""
    if not PLAIN.fullmatch(path.stem):
        return "not a plain run id"
    if path.stat().st_size > MAX_RECORD_BYTES:
        return "too large"
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
