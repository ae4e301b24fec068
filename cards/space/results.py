"""Read the results dataset, always at one commit, and keep what was read for some minutes.

Only files that are new since the last look are fetched. Whatever goes wrong with one run costs that run, and is named;
whatever goes wrong with the Hub costs nothing: the last good state stays.
"""

import datetime
import json
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from huggingface_hub import HfApi, constants, errors
from huggingface_hub.hf_api import RepoFile
from submissions import RUN_ID, Damaged, Run, read_run

MAX_AGE_S = 300.0
#: A reload that was asked for looks again only after this time: a button must not become a load on the Hub.
MIN_AGE_S = 2.0
MAX_PARQUET_BYTES = 64 * 1024 * 1024
MAX_RECORD_BYTES = 64 * 1024
MAX_RUNS = 5_000
MAX_FILES = 100_000

T = TypeVar("T")
_HTTP_ERROR: type[Exception] = getattr(errors, "HTTPError", errors.HfHubHTTPError)


@dataclass(frozen=True)
class Record:
    """That a maintainer has evaluated a run again and agreed.

    Attributes:
        at: when, in UTC, as ISO 8601: sorts by time.
        judged: the judge's categories were repeated, too.
    """

    parquet_sha256: str
    at: str
    by: str
    judged: bool


@dataclass(frozen=True)
class Published:
    """A run in the results dataset.

    Attributes:
        record: None if it does not count.
        files: names of what lies in its folder.
    """

    run: Run
    record: Record | None
    files: frozenset[str]


@dataclass(frozen=True)
class Snapshot:
    """The results dataset at one commit.

    Attributes:
        sha: None if it could not be read yet.
        skipped: run or file → why it is not shown.
        problem: why it may be out of date; empty if it is not.
    """

    repo: str
    sha: str | None = None
    read_at: str = ""
    published: tuple[Published, ...] = ()
    skipped: tuple[tuple[str, str], ...] = ()
    problem: str = ""

    def link(self, kind: str, path: str) -> str:
        """The address of a file (`blob`, `resolve`) or folder (`tree`) at this commit; `path` must be a plain name."""
        return f"{constants.ENDPOINT}/datasets/{self.repo}/{kind}/{self.sha}/{path}"


class Results:
    """The results dataset as last seen; safe to be used by several threads."""

    def __init__(self, repo: str) -> None:
        self._api = HfApi(library_name="lmrbench-space")
        self._snapshot = Snapshot(repo)
        self._looked = float("-inf")
        self._lock = threading.Lock()
        # What a file was read as, or why it was not, by the file's content: an immutable file is read once.
        self._known: dict[tuple[str, str], Any] = {}

    def get(self, *, reload: bool = False) -> Snapshot:
        """The state, looked up again if it is older than `MAX_AGE_S` or if `reload` is set."""
        with self._lock:
            if time.monotonic() - self._looked > (MIN_AGE_S if reload else MAX_AGE_S):
                try:
                    self._snapshot = self._look()
                except (_HTTP_ERROR, errors.HfHubHTTPError, errors.HFValidationError, OSError) as error:
                    self._snapshot = replace(self._snapshot, problem=_explain(error))
                # After the look, which may have taken long.
                self._looked = time.monotonic()
            return self._snapshot

    def _look(self) -> Snapshot:
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
        skipped = {path: "no plain run id" for path, name in found.items() if not RUN_ID.fullmatch(name)}
        runs = {name: path for path, name in sorted(found.items()) if path not in skipped}
        records = {name: f"verified/{name}.json" for name in runs if f"verified/{name}.json" in files}
        if len(runs) > MAX_RUNS:
            # Verified runs come first; what a flood of others hides is said.
            kept = set(sorted(runs, key=lambda name: (name not in records, name))[:MAX_RUNS])
            skipped[f"{len(runs) - MAX_RUNS} runs"] = f"more than {MAX_RUNS}"
            runs = {name: path for name, path in runs.items() if name in kept}
        wanted = [files[path] for name in runs for path in (runs[name], records.get(name)) if path]
        self._fetch(repo, sha, wanted)
        published = []
        for name, path in runs.items():
            run = self._known[path, files[path].blob_id]
            record = self._known.get((records[name], files[records[name]].blob_id)) if name in records else None
            if isinstance(record, Damaged):
                skipped[records[name]] = f"{record}; the run is shown as unverified"
                record = None
            if isinstance(run, Damaged):
                skipped[name] = str(run)
                continue
            if record is not None and record.parquet_sha256 != run.sha256:
                skipped[records[name]] = "is for another content of the file; the run is shown as unverified"
                record = None
            beside = frozenset(path.rpartition("/")[2] for path in files if path.startswith(f"runs/{name}/"))
            published.append(Published(run, record, beside))
        return Snapshot(repo, sha, now, tuple(published), tuple(sorted(skipped.items())))

    def _fetch(self, repo: str, sha: str, wanted: list[RepoFile]) -> None:
        """Read the files that are new; afterwards exactly these are known.

        Raises:
            OSError: some could not be fetched; those that were stay known.
        """
        new = [item for item in wanted if (item.path, item.blob_id) not in self._known]
        for item in new:
            if item.size > (MAX_RECORD_BYTES if item.path.endswith(".json") else MAX_PARQUET_BYTES):
                self._known[item.path, item.blob_id] = Damaged("too large")
        names = [item.path for item in new if (item.path, item.blob_id) not in self._known]
        if names:
            # A run id has no characters that mean anything in a pattern.
            folder = Path(self._api.snapshot_download(repo, repo_type="dataset", revision=sha, allow_patterns=names))
            for item in new:
                if item.path in names:
                    name = Path(item.path).stem
                    content = (folder / item.path).read_bytes()
                    read = _read_record if item.path.endswith(".json") else read_run
                    self._known[item.path, item.blob_id] = _or_damage(read, content, name)
        current = {(item.path, item.blob_id) for item in wanted}
        self._known = {key: value for key, value in self._known.items() if key in current}


def _or_damage(read: Callable[[bytes, str], T], content: bytes, name: str) -> T | Damaged:
    try:
        return read(content, name)
    except Damaged as error:
        return error


def _read_record(content: bytes, run_id: str) -> Record:
    """Read `verified/<run_id>.json`.

    Raises:
        Damaged: it is no record of this run.
    """
    try:
        data = json.loads(content)
        if data["run_id"] != run_id:
            raise Damaged("names another run")
        date = datetime.datetime.fromisoformat(data["verified_at"]).astimezone(datetime.UTC)
        sha256, by, judged = data["parquet_sha256"], data["verified_by"], data.get("judge_verified")
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise Damaged("not a record of a verification") from error
    return Record(str(sha256), date.isoformat(timespec="seconds"), str(by), judged is True)


def _explain(error: Exception) -> str:
    """Why the Hub could not be read, in a line that repeats nothing it has sent."""
    if isinstance(error, errors.RepositoryNotFoundError):
        return "there is no such dataset, or it is private"
    if isinstance(error, errors.HFValidationError):
        return "LMRBENCH_RESULTS is not of the form org/name"
    response = getattr(error, "response", None)
    return f"the Hub answered {response.status_code}" if response is not None else "the Hub does not answer"
