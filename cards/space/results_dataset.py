"""Read the results dataset at one commit, and cache it for some minutes.

Only files written by `lmrbench verify` are read: a record, and the Parquet file whose hash it names.
Only files that are new since the last request are fetched. A fault in one run hides that run, and is named; a fault of
the Hub hides nothing: the last good state stays.
"""

import datetime
import hashlib
import json
import re
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote

from base.limited_reader import Reader
from base.names import PLAIN, child_path
from huggingface_hub import HfApi, constants, errors
from huggingface_hub.hf_api import RepoFile
from submitted_run import Damaged, SubmittedRun, read_run

#: The name of a repository on the Hub.
REPO = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}/[A-Za-z0-9][A-Za-z0-9._-]{0,95}")
MAX_AGE_S = 300.0
#: The reload button asks the Hub again only after this time, so that clicks do not burden it.
MIN_AGE_S = 2.0
MAX_PARQUET_BYTES = 64 * 1024 * 1024
MAX_RECORD_BYTES = 1024 * 1024
MAX_RUNS = 5_000
MAX_FILES = 100_000

_HTTP_ERROR: type[Exception] = getattr(errors, "HTTPError", errors.HfHubHTTPError)


@dataclass(frozen=True)
class Record:
    """The record of a run that a maintainer has repeated.

    Attributes:
        at: time of the verification, ISO 8601 in UTC, which sorts by time.
        model_repos: names of models that were repositories on the Hub at that time.
    """

    parquet_sha256: str
    at: str
    by: str
    model_repos: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Published:
    """A verified run in the results dataset.

    Attributes:
        files: names of the files in its folder.
    """

    run: SubmittedRun
    record: Record
    files: frozenset[str]


@dataclass(frozen=True)
class Snapshot:
    """The results dataset at one commit.

    Attributes:
        sha: None if it has not been read yet.
        skipped: run or file → the reason why it is not shown.
        problem: the reason why it may be out of date, or empty.
    """

    repo: str
    sha: str | None = None
    read_at: str = ""
    published: tuple[Published, ...] = ()
    skipped: tuple[tuple[str, str], ...] = ()
    problem: str = ""

    def link(self, kind: str, path: str) -> str:
        """Return the address of a file (`blob`, `resolve`) or folder (`tree`) at this commit."""
        return f"{constants.ENDPOINT}/datasets/{self.repo}/{kind}/{self.sha}/{path}"

    def model_link(self, item: "Published", model: str) -> str:
        """Return a model's page on the Hub; empty if the record does not name it as a repository."""
        known = model in item.record.model_repos and REPO.fullmatch(model)
        return f"{constants.ENDPOINT}/{model}" if known else ""

    def task_link(self, dataset: str, config: str, instance: str) -> str:
        """Return the address of an instance in the dataset viewer; empty if the run names no dataset on the Hub."""
        repo = dataset.partition("@")[0]
        if not REPO.fullmatch(repo):
            return ""
        return f"{constants.ENDPOINT}/datasets/{repo}/viewer/{config}/test?q={quote(instance, safe='')}"


class ResultsDataset:
    """The results dataset as last read; safe for use by several threads."""

    def __init__(self, repo: str) -> None:
        self._api = HfApi(library_name="lmrbench-space")
        self._snapshot = Snapshot(repo)
        self._read_at = float("-inf")
        self._lock = threading.Lock()
        # The run and its record, or the fault of each, by run id and content hashes: an immutable file is read once.
        self._known: dict[tuple[str, str, str], tuple[Record | Damaged, SubmittedRun | Damaged]] = {}

    def get(self, *, reload: bool = False) -> Snapshot:
        """Return the state, read again if it is older than `MAX_AGE_S` or if `reload` is set."""
        with self._lock:
            if time.monotonic() - self._read_at > (MIN_AGE_S if reload else MAX_AGE_S):
                try:
                    self._snapshot = self._read()
                except (_HTTP_ERROR, errors.HfHubHTTPError, errors.HFValidationError, OSError) as error:
                    self._snapshot = replace(self._snapshot, problem=_explain(error))
                # Set after reading, which may take long.
                self._read_at = time.monotonic()
            return self._snapshot

    def _read(self) -> Snapshot:
        repo = self._snapshot.repo
        sha = str(self._api.dataset_info(repo).sha)
        now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
        if sha == self._snapshot.sha:
            return replace(self._snapshot, read_at=now, problem="")
        files: dict[str, RepoFile] = {}
        for item in self._api.list_repo_tree(repo, repo_type="dataset", revision=sha, recursive=True):
            if isinstance(item, RepoFile):
                files[item.path] = item
            if len(files) > MAX_FILES:
                raise OSError(f"{repo} has more than {MAX_FILES} files")
        found = {path: match[1] for path in files if (match := re.fullmatch(r"data/([^/]+)\.parquet", path))}
        skipped = {path: "not a plain run id" for path, name in found.items() if not PLAIN.fullmatch(name)}
        runs = [name for path, name in sorted(found.items()) if path not in skipped]
        skipped |= {name: "nobody has verified it" for name in runs if f"verified/{name}.json" not in files}
        runs = [name for name in runs if name not in skipped]
        if len(runs) > MAX_RUNS:
            skipped[f"{len(runs) - MAX_RUNS} runs"] = f"more than {MAX_RUNS}"
            runs = runs[:MAX_RUNS]
        published = []
        for name, record, run in self._fetch(repo, sha, files, runs):
            if isinstance(record, Damaged):
                skipped[f"verified/{name}.json"] = f"{record}; the run is not shown"
            elif isinstance(run, Damaged):
                skipped[name] = str(run)
            else:
                beside = frozenset(path.rpartition("/")[2] for path in files if path.startswith(f"runs/{name}/"))
                published.append(Published(run, record, beside))
        return Snapshot(repo, sha, now, tuple(published), tuple(sorted(skipped.items())))

    def _fetch(
        self, repo: str, sha: str, files: Mapping[str, RepoFile], runs: Sequence[str]
    ) -> list[tuple[str, Record | Damaged, SubmittedRun | Damaged]]:
        """Return each run with its record; only new files are downloaded and read, and exactly these stay cached.

        Raises:
            OSError: some files could not be fetched; those that were read before stay cached.
        """
        pairs = {name: (files[f"verified/{name}.json"], files[f"data/{name}.parquet"]) for name in runs}
        keys = {name: (name, record.blob_id, data.blob_id) for name, (record, data) in pairs.items()}
        known = {key: self._known[key] for key in keys.values() if key in self._known}
        for name, (record, data) in pairs.items():
            if record.size > MAX_RECORD_BYTES or data.size > MAX_PARQUET_BYTES:
                known[keys[name]] = Damaged("too large"), Damaged("too large")
        new = [name for name in runs if keys[name] not in known]
        if new:
            # A run id has no character with a meaning in a pattern.
            paths = [item.path for name in new for item in pairs[name]]
            folder = Path(self._api.snapshot_download(repo, repo_type="dataset", revision=sha, allow_patterns=paths))
            with Reader() as reader:
                for name in new:
                    known[keys[name]] = _read_pair(folder, name, reader)
        self._known = known
        return [(name, *known[keys[name]]) for name in runs]


def _read_pair(folder: Path, name: str, reader: Reader) -> tuple[Record | Damaged, SubmittedRun | Damaged]:
    """A run and its record, each of which may be damaged."""
    record: Record | Damaged = Damaged("not read")
    try:
        record = _read_record(child_path(folder / "verified", name, ".json").read_bytes(), name)
        path = child_path(folder / "data", name, ".parquet")
        if hashlib.sha256(path.read_bytes()).hexdigest() != record.parquet_sha256:
            return Damaged("is for another content of the file"), Damaged("not read")
        return record, read_run(path, name, reader)
    except OSError:
        raise
    except Damaged as error:
        damage = error
    except Exception as error:
        # Any error that a file causes hides that run alone.
        damage = Damaged(f"cannot be read ({type(error).__name__})")
    return (damage, damage) if isinstance(record, Damaged) else (record, damage)


def _read_record(content: bytes, run_id: str) -> Record:
    """Read `verified/<run_id>.json`.

    Raises:
        Damaged: the file is not a record of this run.
    """
    try:
        data = json.loads(content)
        if data["run_id"] != run_id:
            raise Damaged("names another run")
        date = datetime.datetime.fromisoformat(data["verified_at"]).astimezone(datetime.UTC)
        sha256, by = data["parquet_sha256"], data["verified_by"]
        repos = frozenset(str(name) for name in data.get("model_repos", ()))
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise Damaged("not a record of a verification") from error
    return Record(str(sha256), date.isoformat(timespec="seconds"), str(by), repos)


def _explain(error: Exception) -> str:
    """Return why the Hub could not be read, in one line that repeats nothing that it sent."""
    if isinstance(error, errors.RepositoryNotFoundError):
        return "the dataset does not exist or is private"
    if isinstance(error, errors.HFValidationError):
        return "LMRBENCH_RESULTS must have the form org/name"
    response = getattr(error, "response", None)
    return f"the Hub answered {response.status_code}" if response is not None else "the Hub does not answer"
