"""The folder of a run: run.json, predictions.jsonl, results.jsonl, logs/. One process writes; a killed one is resumed.

While a run goes on, results.jsonl is appended to and flushed row by row. A row counts for the prediction whose key and
hash it carries; of several (an infra error that was tried again) the last counts. When a run starts, rows that do not
count any more move to results-removed.jsonl. Totals are never stored here: reports recompute them.
"""

import contextlib
import json
import logging
import os
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

from filelock import FileLock, Timeout

from lmrbench_data.base.errors import ArgumentError
from lmrbench_data.base.files import write_atomically
from lmrbench_data.base.jsonl import cut_tail
from lmrbench_data.base.times import now

from ..predictions.prediction import Prediction, PredictionFile
from ..verdict.verdict import Status
from .results import Key, log_path, read_facts, result_lines, row_key

_log = logging.getLogger(__name__)

#: What must agree for results of one folder to be comparable with each other.
_IDENTITY = (
    "dataset_sha256",
    "recordings_sha256",
    "harness_version",
    "sandbox",
    "timeout_scale",
    "fresh_seed_count",
    "scope",
)


class Entry(NamedTuple):
    """The index entry of a prediction row."""

    instance_id: str
    model: str
    setting: str
    track: str
    sample: int
    sha256: str
    position: int
    """Where it starts in predictions.jsonl."""

    def as_row(self) -> dict[str, Any]:
        """What tells rows of one instance apart, under the names of a result row."""
        names = {"model_name_or_path": self.model, "setting": self.setting, "track": self.track}
        return {**names, "sample": self.sample, "prediction_sha256": self.sha256}


class RunFolder:
    """An open run folder; use `RunFolder.open` as a context manager."""

    def __init__(self, path: Path, facts: dict[str, Any]) -> None:
        self.path = path
        self.facts = facts
        self.entries: list[Entry] = []
        self._predictions = PredictionFile(path / "predictions.jsonl")
        self._results: IO[bytes] | None = None
        #: Of each row that has a result: status, and where the row starts in results.jsonl.
        self._known: dict[Key, tuple[Status, int]] = {}
        #: Of answers whose rows were removed: where a row starts in results-removed.jsonl.
        self._removed: dict[tuple[str, str], int] = {}

    @classmethod
    @contextlib.contextmanager
    def open(cls, path: Path, identity: Mapping[str, Any]) -> Iterator["RunFolder"]:
        """Create or resume the folder of a run.

        Raises:
            InputError: another process has it open, it belongs to a different run, or it holds something else.
        """
        stored = path / "run.json"
        try:
            if path.exists() and (not path.is_dir() or (not stored.is_file() and set(os.listdir(path)) - {".lock"})):
                raise ArgumentError("out", f"{path}: is not a run folder and not empty; give another name")
            path.mkdir(parents=True, exist_ok=True)
            lock = FileLock(path / ".lock")
            lock.acquire(blocking=False)
        except Timeout:
            problem = f"{path}: another process is evaluating into it; wait for it, or give another name"
            raise ArgumentError("out", problem) from None
        except OSError as error:
            problem = f"{path}: cannot be written ({error.strerror}); give another place"
            raise ArgumentError("out", problem) from error
        with contextlib.closing(cls(path, {})) as folder, lock:
            folder.facts = _facts(path, stored, identity)
            folder._read_results()
            folder._read_removed()
            folder.update()
            yield folder

    def close(self) -> None:
        """Close the file of results."""
        if self._results:
            self._results.close()

    def update(self, **facts: Any) -> None:
        """Add facts to run.json; the file is always whole."""
        self.facts.update(facts)
        write_atomically(self.path / "run.json", json.dumps(self.facts, indent=2) + "\n")

    @contextlib.contextmanager
    def predictions_writer(self) -> Iterator[Callable[[Prediction], None]]:
        """Rewrite predictions.jsonl; afterwards `entries` indexes it, and results of other predictions are removed."""
        temporary = self.path / ".predictions.jsonl"
        self.entries = []
        with temporary.open("wb") as file:

            def write(prediction: Prediction) -> None:
                position = PredictionFile.append(file, prediction)
                self.entries.append(Entry(*prediction.key, prediction.sha256, position))

            yield write
        os.replace(temporary, self.path / "predictions.jsonl")
        if self.entries:  # with none, the wrong file was given
            self._remove_results()

    def prediction(self, entry: Entry) -> Prediction:
        """The prediction behind an index entry."""
        return self._predictions.read(entry.position)

    def pending(self, entries: Sequence[Entry]) -> dict[Entry, list[Entry]]:
        """Jobs that are left: one entry for each distinct answer to an instance, and all entries that share it."""
        jobs: dict[tuple[str, str], list[Entry]] = {}
        for entry in entries:
            known = self._known.get(_key(entry))
            if known is None or known[0] is Status.INFRA_ERROR:
                jobs.setdefault((entry.instance_id, entry.sha256), []).append(entry)
        return {group[0]: group for group in jobs.values()}

    def copy_known_results(self, jobs: dict[Entry, list[Entry]]) -> dict[Entry, list[Entry]]:
        """Give entries the result of an equal answer that this run has evaluated already; return the jobs left."""
        evaluated = {answer: (self._removed_rows, position) for answer, position in self._removed.items()}
        for key, (status, position) in self._known.items():
            if status is not Status.INFRA_ERROR:
                evaluated[key[0], key[-1]] = self._rows, position
        left = {}
        for job, group in jobs.items():
            found = evaluated.get((job.instance_id, job.sha256))
            if found is None:
                left[job] = group
                continue
            with found[0].open("rb") as file:
                file.seek(found[1])
                row = json.loads(file.readline())
            for entry in group:
                self.append(entry, {**row, **entry.as_row()})
        return left

    def append(self, entry: Entry, result: Mapping[str, Any]) -> None:
        """Write one result row; it is on its way to the disk when this returns."""
        if self._results is None:
            self._results = self._rows.open("ab")
        position = self._results.tell()
        self._results.write(json.dumps(result).encode("ascii") + b"\n")
        self._results.flush()
        self._known[_key(entry)] = (Status(result["status"]), position)

    def statuses(self, entries: Sequence[Entry]) -> list[Status]:
        """The statuses of those entries that have a result."""
        return [self._known[_key(entry)][0] for entry in entries if _key(entry) in self._known]

    def write_log(self, job: Entry, log: str) -> None:
        """Keep what the tested code printed."""
        if log:
            path = log_path(self.path, job.instance_id, job.sha256)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(log, encoding="utf-8")

    @property
    def _rows(self) -> Path:
        return self.path / "results.jsonl"

    @property
    def _removed_rows(self) -> Path:
        return self.path / "results-removed.jsonl"

    def _read_results(self) -> None:
        end = 0
        for line in result_lines(self._rows):
            self._known[row_key(line.row)] = (Status(line.row["status"]), line.start)
            end = line.end
        cut_tail(self._rows, end)  # a row that was cut short is evaluated again

    def _read_removed(self) -> None:
        end = 0
        for line in result_lines(self._removed_rows):
            if line.row["status"] != Status.INFRA_ERROR:
                self._removed[line.row["instance_id"], line.row["prediction_sha256"]] = line.start
            end = line.end
        cut_tail(self._removed_rows, end)

    def _remove_results(self) -> None:
        """Move rows that do not count any more out of results.jsonl: whoever reads that file reads this run alone.

        They are kept: the predictions of a wrong file must not cost what was evaluated.
        """
        wanted = {_key(entry) for entry in self.entries}
        counted = {position for key, (_, position) in self._known.items() if key in wanted}
        removed = sum(line.start not in counted for line in result_lines(self._rows))
        if not removed:
            return
        temporary = self.path / ".results.jsonl"
        with self._rows.open("rb") as old, temporary.open("wb") as kept, self._removed_rows.open("ab") as away:
            for line in result_lines(self._rows):
                old.seek(line.start)
                (kept if line.start in counted else away).write(old.read(line.end - line.start))
            for file in (away, kept):
                file.flush()
                os.fsync(file.fileno())
        os.replace(temporary, self._rows)
        self._known, self._removed = {}, {}
        self._read_results()
        self._read_removed()
        _log.info("%s: %d results that do not count any more moved to %s", self.path, removed, self._removed_rows.name)


def _facts(path: Path, stored: Path, identity: Mapping[str, Any]) -> dict[str, Any]:
    if not stored.is_file():
        return {"run_id": f"{path.resolve().name}-{uuid.uuid4().hex[:8]}", **identity, "started_at": now()}
    facts = read_facts(path)
    for name in _IDENTITY:
        if facts.get(name) != identity[name]:
            what = "selection of instances" if name == "scope" else name
            raise ArgumentError(
                "out", f"{path} holds a run with another {what}, and results cannot be mixed; name another folder"
            )
    return facts


def _key(entry: Entry) -> Key:
    return entry[:-1]
