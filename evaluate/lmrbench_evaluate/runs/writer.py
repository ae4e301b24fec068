"""Write a run folder: run.json, predictions.jsonl, results.jsonl, logs/; one process at a time.

Totals are never stored: reports recompute them.
"""

import contextlib
import json
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from lmrbench_data.base.errors import ArgumentError
from lmrbench_data.base.files import is_too_long, now, write_atomically
from lmrbench_data.base.text import join_names
from lmrbench_data.dataset.result_rows import ResultRow
from lmrbench_data.dataset.rows import DatasetRow

from ..predictions.prediction import AnswerKey, Prediction
from ..verdict.evaluator import result_columns
from ..verdict.verdict import Status, Verdict
from .folder import FACTS, RESULTS, RunFolder
from .result_log import ResultLog

#: The facts that must agree for results to share a folder; the scope of a run may grow.
IDENTITY = (
    "config",
    "dataset_sha256",
    "recordings_sha256",
    "harness_version",
    "sandbox",
    "timeout_scale",
    "fresh_seed_count",
)
#: The facts that each result repeats.
_SHARED = (
    "run_id",
    "sandbox",
    "dataset",
    "dataset_sha256",
    "recordings_sha256",
    "harness_version",
    "started_at",
)


class RunWriter:
    """A run folder open for writing; use `RunWriter.open` as a context manager."""

    def __init__(self, path: Path, facts: dict[str, Any], results: ResultLog) -> None:
        self.folder = RunFolder(path)
        self.facts = facts
        self._results = results
        self._positions: dict[AnswerKey, int] = {}
        """The byte at which each prediction starts."""

    @classmethod
    @contextlib.contextmanager
    def open(cls, path: Path, identity: Mapping[str, Any]) -> Iterator[Self]:
        """Create or resume the folder of a run.

        Raises:
            InputError: another process has it open, it belongs to a different run, or it holds
                something else.
        """
        check_folder(path, identity)
        is_new = not path.exists()
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            problem = f"{path}: cannot be written ({error.strerror}); choose another place"
            raise ArgumentError("out", problem) from error
        try:
            with ResultLog.open(path / RESULTS) as results:
                yield cls(path, check_folder(path, identity), results)
        finally:
            if is_new:
                with contextlib.suppress(OSError):  # it has content
                    path.rmdir()

    def update(self, **facts: Any) -> None:
        """Add facts to run.json, or change them; the file is always whole."""
        self.facts.update(facts)
        write_atomically(self.folder.path / FACTS, json.dumps(self.facts, indent=2) + "\n")

    def take_predictions(
        self, predictions: Iterable[Prediction], replace: bool = False
    ) -> list[AnswerKey]:
        """Write predictions.jsonl and run.json once all predictions are read; return the keys.

        Raises:
            ArgumentError: they lack or change an answer of the run, and `replace` is false; the
                run stays as it is.
        """
        checked = predictions if replace else _with_all_answers(predictions, self.folder)
        self._positions = self.folder.predictions.write(checked)
        try:
            self.update()
        except BaseException:
            if not self.folder.exists:  # a new run: the next call would refuse its folder
                self.folder.predictions.path.unlink()
            raise
        return list(self._positions)

    def prediction(self, key: AnswerKey) -> Prediction:
        """Read one of the predictions."""
        return self.folder.predictions.read(self._positions[key])

    def pending(self, keys: Sequence[AnswerKey]) -> dict[AnswerKey, list[AnswerKey]]:
        """Group the answers without a verdict by content; the first of each group stands for it."""
        groups: dict[AnswerKey, list[AnswerKey]] = {}
        for key in keys:
            if not self._has_verdict(key):
                groups.setdefault(key.content, []).append(key)
        return {group[0]: group for group in groups.values()}

    def _has_verdict(self, key: AnswerKey) -> bool:
        """Return whether an answer has a verdict; an infra error is tried again."""
        return self._results.statuses.get(key, Status.INFRA_ERROR) is not Status.INFRA_ERROR

    def copy_results(
        self, jobs: Mapping[AnswerKey, list[AnswerKey]]
    ) -> dict[AnswerKey, list[AnswerKey]]:
        """Copy the results of equal answers that this run has evaluated; return the jobs left."""
        if not jobs:
            return {}
        left = {job.content: job for job in jobs}
        for row in self._results.read(self._results.path):
            content = AnswerKey.of(row).content
            if content in left and row["status"] != Status.INFRA_ERROR:
                for key in jobs[left.pop(content)]:
                    self._results.write({**row, **key.as_row()})
        return {job: jobs[job] for job in left.values()}

    def add_result(self, row: Mapping[str, Any]) -> None:
        """Add a result from another folder, unless this one has a verdict on the answer."""
        if not self._has_verdict(AnswerKey.of(row)):
            self._results.write(dict(row))

    def add_verdict(self, key: AnswerKey, verdict: Verdict, row: DatasetRow) -> None:
        """Write the verdict on one answer; the operating system has it when this returns."""
        result = {name: self.facts[name] for name in _SHARED}
        result |= {"instance_id": key.instance_id, "category": row["category"], **key.as_row()}
        result |= result_columns(verdict, row)
        result["image_id"] = self.facts["images"][row["docker_image"]]
        columns = [name for name in ResultRow.__annotations__ if name in result]
        self._results.write({name: result[name] for name in columns})

    def infra_errors(self, keys: Iterable[AnswerKey]) -> int:
        """Return the number of these answers whose last result is an infra error."""
        statuses = self._results.statuses
        return sum(statuses.get(key) is Status.INFRA_ERROR for key in keys)

    def write_log(self, key: AnswerKey, log: str) -> None:
        """Write the output of the tested code, if it printed anything."""
        if log:
            write_atomically(self.folder.log_path(key.instance_id, key.sha256), log)


def check_folder(path: Path, identity: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts of the run that a folder can begin or continue; write nothing.

    Raises:
        InputError: as `RunWriter.open`.
    """
    if is_too_long(path / FACTS):
        raise ArgumentError("out", f"{path}: the name is too long; choose a shorter one")
    if not RunFolder(path).exists:
        return _new_run(path, identity)
    facts = RunFolder(path).facts
    _check_settings(path, facts, identity)
    _check_scope(path, facts, identity)
    return {**facts, "scope": identity["scope"], "difficulties": identity["difficulties"]}


def _new_run(path: Path, identity: Mapping[str, Any]) -> dict[str, Any]:
    if path.exists() and not _is_empty(path):
        raise ArgumentError(
            "out", f"{path}: is not a run folder and not empty; use an empty folder"
        )
    run_id = f"{path.resolve().name}-{uuid.uuid4().hex[:8]}"
    return {"run_id": run_id, **identity, "started_at": now()}


def _check_settings(path: Path, facts: Mapping[str, Any], identity: Mapping[str, Any]) -> None:
    """Check that new results can be mixed with those of a run."""
    for name in IDENTITY:
        if facts.get(name) == identity.get(name):
            continue
        if name.endswith("_sha256"):
            what = name.removesuffix("_sha256")
        else:
            what = f"{name} ({facts.get(name)}, now {identity.get(name)})"
        raise ArgumentError(
            "out",
            f"{path} holds a run with a different {what}, and results cannot be mixed;"
            " name another folder, or move this one away",
        )


def _check_scope(path: Path, facts: Mapping[str, Any], identity: Mapping[str, Any]) -> None:
    """Check that a run keeps all its instances."""
    left_out = sorted(facts["scope"].keys() - identity["scope"].keys())
    if left_out:
        raise ArgumentError(
            "out",
            f"{path} holds a run that also covers {join_names(left_out, 3)};"
            " choose these `instances` as well, or name another folder",
        )


def check_answers(predictions: Iterable[Prediction], folder: RunFolder) -> None:
    """Check that predictions keep all answers of a run.

    Raises:
        ArgumentError: they lack or change an answer.
    """
    for _ in _with_all_answers(predictions, folder):
        pass


def _with_all_answers(predictions: Iterable[Prediction], folder: RunFolder) -> Iterator[Prediction]:
    """Pass predictions on, and check at the end that they keep all answers of the run."""
    missing = {key.row: key.sha256 for key in folder.answers()}
    faults = []
    for item in predictions:
        if missing.pop(item.key.row, item.sha256) != item.sha256:
            faults.append(f"change: {item.key}")
        yield item
    faults += [f"lack: {key}" for key in missing]
    if faults:
        raise ArgumentError(
            "out",
            f"{folder.path} holds an answer that these predictions {faults[0]}; name another"
            " folder, or replace the answers of the run (`replace=True`)",
        )


def _is_empty(path: Path) -> bool:
    """Return whether a folder is empty but for the files of a run that was killed at its start."""
    if not path.is_dir():
        return False
    sizes = {item.name: item.lstat().st_size for item in path.iterdir()}
    return sizes.keys() <= {RESULTS, f".{RESULTS}.lock"} and not sizes.get(RESULTS)
