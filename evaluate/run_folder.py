"""The folder of a run: run.json, predictions.jsonl, results.jsonl, logs/; one process writes, a killed one can be resumed.

results.jsonl is append-only and flushed row by row. A row counts for the prediction whose key and hash it carries; of
several (an infra error that was tried again) the last counts. Totals are never stored here: reports recompute them.
"""

import contextlib
import datetime
import fcntl
import json
import os
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

from lmrbench_data.errors import InputError
from lmrbench_data.evaluate.predictions import Prediction, PredictionFile
from lmrbench_data.evaluate.verdict import Status

#: What must agree for results of one folder to be comparable with each other.
_IDENTITY = ("dataset_sha256", "harness_version", "sandbox", "timeout_scale", "fresh_seed_count", "scope")


class Entry(NamedTuple):
    """The index entry of a prediction row."""

    instance_id: str
    model: str
    setting: str
    sample: int
    sha256: str
    position: int
    """Where it starts in predictions.jsonl."""


Key = tuple[str, str, str, int, str]


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

    @classmethod
    @contextlib.contextmanager
    def open(cls, path: Path, identity: Mapping[str, Any]) -> Iterator["RunFolder"]:
        """Create or resume the folder of a run.

        Raises:
            InputError: another process has it open, it belongs to a different run, or it holds something else.
        """
        stored = path / "run.json"
        if path.exists() and (not path.is_dir() or (not stored.is_file() and set(os.listdir(path)) - {".lock"})):
            raise InputError(f"{path}: is not a run folder and not empty; give --out another name")
        path.mkdir(parents=True, exist_ok=True)
        with (path / ".lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise InputError(f"{path}: another process is evaluating into it; wait for it, or give --out") from None
            folder = cls(path, _facts(path, stored, identity))
            folder.update()
            folder._read_results()
            try:
                yield folder
            finally:
                if folder._results:
                    folder._results.close()

    def update(self, **facts: Any) -> None:
        """Add facts to run.json; the file is always whole."""
        self.facts.update(facts)
        temporary = self.path / ".run.json"
        temporary.write_text(json.dumps(self.facts, indent=2) + "\n", encoding="utf-8")
        os.replace(temporary, self.path / "run.json")

    @contextlib.contextmanager
    def predictions_writer(self) -> Iterator[Callable[[Prediction], None]]:
        """Rewrite predictions.jsonl; afterwards `entries` indexes it."""
        temporary = self.path / ".predictions.jsonl"
        self.entries = []
        with temporary.open("wb") as file:

            def write(prediction: Prediction) -> None:
                position = PredictionFile.append(file, prediction)
                self.entries.append(Entry(*prediction.key, prediction.sha256, position))

            yield write
        os.replace(temporary, self.path / "predictions.jsonl")

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
        evaluated = {
            (key[0], key[4]): position
            for key, (status, position) in self._known.items()
            if status is not Status.INFRA_ERROR
        }
        left = {}
        for job, group in jobs.items():
            position = evaluated.get((job.instance_id, job.sha256))
            if position is None:
                left[job] = group
                continue
            with (self.path / "results.jsonl").open("rb") as file:
                file.seek(position)
                row = json.loads(file.readline())
            for entry in group:
                names = {"model_name_or_path": entry.model, "setting": entry.setting, "sample": entry.sample}
                self.append(entry, {**row, **names})
        return left

    def append(self, entry: Entry, result: Mapping[str, Any]) -> None:
        """Write one result row; it is on its way to the disk when this returns."""
        if self._results is None:
            self._results = (self.path / "results.jsonl").open("ab")
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
            path = self.path / "logs" / job.instance_id / f"{job.sha256[:16]}.log"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(log, encoding="utf-8")

    def _read_results(self) -> None:
        path = self.path / "results.jsonl"
        if not path.exists():
            return
        with path.open("r+b") as file:
            position = 0
            for line in file:
                row = _parse(line)
                if row is None:
                    # A row cut short by a kill; what was cut is evaluated again.
                    if file.read(1):
                        raise InputError(
                            f"{path}: not a result row at byte {position}; move the file away to start anew"
                        )
                    file.truncate(position)
                    break
                key = (
                    row["instance_id"],
                    row["model_name_or_path"],
                    row["setting"],
                    row["sample"],
                    row["prediction_sha256"],
                )
                self._known[key] = (Status(row["status"]), position)
                position += len(line)


def read_results(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a run folder's results.jsonl that count, in order: the last one of each prediction row.

    Raises:
        InputError: no run folder there, or a damaged file.
    """
    results = path / "results.jsonl"
    if not (path / "run.json").is_file():
        raise InputError(f"{path}: no run.json; give the folder that `lmrbench evaluate --out` wrote")
    if not results.exists():
        return
    last: dict[tuple[Any, ...], int] = {}
    with results.open("rb") as file:
        for number, line in enumerate(file):
            if (row := _parse(line)) is not None:
                last[row["instance_id"], row["model_name_or_path"], row["setting"], row["sample"]] = number
    counted = set(last.values())
    with results.open("rb") as file:
        for number, line in enumerate(file):
            if number in counted:
                yield json.loads(line)


def read_facts(path: Path) -> dict[str, Any]:
    """run.json of a run folder.

    Raises:
        InputError: missing or damaged.
    """
    try:
        facts = json.loads((path / "run.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(
            f"{path}: no readable run.json ({error}); give a folder of `lmrbench evaluate --out`"
        ) from error
    if not isinstance(facts, dict):
        raise InputError(f"{path / 'run.json'}: not a run's facts")
    return facts


def _facts(path: Path, stored: Path, identity: Mapping[str, Any]) -> dict[str, Any]:
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    if not stored.is_file():
        return {"run_id": f"{path.resolve().name}-{uuid.uuid4().hex[:8]}", **identity, "started_at": now}
    facts = read_facts(path)
    for name in _IDENTITY:
        if facts.get(name) != identity[name]:
            what = "selection of instances" if name == "scope" else name
            raise InputError(
                f"{path}: holds a run with another {what}; its results cannot be mixed with these, give --out another name"
            )
    return facts


def _key(entry: Entry) -> Key:
    return entry.instance_id, entry.model, entry.setting, entry.sample, entry.sha256


def _parse(line: bytes) -> dict[str, Any] | None:
    """A whole result row, None for anything else."""
    if not line.endswith(b"\n"):
        return None
    try:
        row = json.loads(line)
        return row if isinstance(row, dict) and Status(row["status"]) and row["instance_id"] else None
    except (ValueError, KeyError):
        return None
