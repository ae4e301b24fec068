"""Write a run folder: run.json, predictions.jsonl, results.jsonl, logs/. Only one process may.

Totals are never stored: reports recompute them.
"""

import contextlib
import json
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from lmrbench_data.base.configurations import RESULT_COLUMNS, configuration_of
from lmrbench_data.base.errors import ArgumentError
from lmrbench_data.base.files import now, write_atomically
from lmrbench_data.base.text import join_names
from lmrbench_data.dataset.result_rows import ResultRow
from lmrbench_data.dataset.rows import DatasetRow

from ..predictions.prediction import AnswerKey, Prediction
from ..verdict.choices import implemented_options
from ..verdict.verdict import Status, Verdict
from .folder import FACTS, PREDICTIONS, RESULTS, RunFolder
from .result_log import ResultLog

#: The facts that must agree for results to share a folder; the scope may grow.
IDENTITY = (
    "config",
    "dataset_sha256",
    "recordings_sha256",
    "harness_version",
    "sandbox",
    "timeout_scale",
    "fresh_seed_count",
    "scope",
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
        self._is_new = not self.folder.exists
        self.facts = facts
        self._results = results

    @classmethod
    @contextlib.contextmanager
    def open(cls, path: Path, identity: Mapping[str, Any]) -> Iterator[Self]:
        """Create or resume the folder of a run.

        Raises:
            InputError: another process has it open, it belongs to a different run, or it holds something else.
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
                writer = cls(path, check_folder(path, identity), results)
                if writer._is_new:
                    writer.update()
                yield writer
        finally:
            if is_new:
                with contextlib.suppress(OSError):  # it has content
                    path.rmdir()

    def discard(self) -> None:
        """Remove the files of a run that this call began and that has no predictions; an earlier one stays."""
        if self._is_new:
            for name in (FACTS, PREDICTIONS):
                (self.folder.path / name).unlink(missing_ok=True)

    def update(self, **facts: Any) -> None:
        """Add facts to run.json; the file is always whole."""
        self.facts.update(facts)
        write_atomically(self.folder.path / FACTS, json.dumps(self.facts, indent=2) + "\n")

    def take_predictions(
        self, predictions: Iterable[Prediction], replace: bool = False
    ) -> list[AnswerKey]:
        """Write predictions.jsonl and the facts of the run, once all predictions are read; return the keys.

        Raises:
            ArgumentError: they lack or change an answer of the run, and `replace` is false; the run stays as it was.
        """
        checked = predictions if replace else with_all_answers(predictions, self.folder)
        self._positions = self.folder.predictions.write(checked)
        self.update()
        return list(self._positions)

    def prediction(self, key: AnswerKey) -> Prediction:
        """Read one of the predictions."""
        return self.folder.predictions.read(self._positions[key])

    def pending(self, keys: Sequence[AnswerKey]) -> dict[AnswerKey, list[AnswerKey]]:
        """Group the answers without a final result by content; the first of a group stands for it."""
        jobs: dict[AnswerKey, list[AnswerKey]] = {}
        for key in keys:
            if self._results.statuses.get(key, Status.INFRA_ERROR) is Status.INFRA_ERROR:
                jobs.setdefault(key.content, []).append(key)
        return {group[0]: group for group in jobs.values()}

    def copy_results(
        self, jobs: Mapping[AnswerKey, list[AnswerKey]]
    ) -> dict[AnswerKey, list[AnswerKey]]:
        """Copy the results of equal answers that this run has evaluated; return the jobs left."""
        left = {job.content: job for job in jobs}
        for row in self._results.read(self._results.path) if left else ():
            if row["status"] != Status.INFRA_ERROR and (
                job := left.pop(AnswerKey.of(row).content, None)
            ):
                for key in jobs[job]:
                    self._results.write({**row, **key.as_row()})
        return {job: jobs[job] for job in left.values()}

    def add_result(self, row: Mapping[str, Any]) -> None:
        """Add a result from another folder, unless this one has a verdict for that prediction."""
        if self._results.statuses.get(AnswerKey.of(row), Status.INFRA_ERROR) is Status.INFRA_ERROR:
            self._results.write(dict(row))

    def append(self, key: AnswerKey, verdict: Verdict, row: DatasetRow, image_id: str) -> None:
        """Write the result of one prediction; the operating system has it when this returns."""
        seeds = row["tests"]["seeds"]
        result: dict[str, Any] = {
            "instance_id": key.instance_id,
            "category": row["category"],
            **key.as_row(),
            "status": str(verdict.status),
            "core_status": str(verdict.core_status),
            "detail": verdict.detail,
            "memorised": verdict.memorised(seeds),
            "core_memorised": verdict.memorised(seeds, core=True),
            "cases": [case.as_row() for case in verdict.cases],
            "functions": verdict.functions(row["tests"]["cases"]),
            "experiments": verdict.experiments(row["tests"]["cases"]),
            "choices": list(verdict.choices) or implemented_options(row, b"", ()),
            "searches_table": verdict.searches_table,
            "duration_s": round(verdict.duration_s, 3),
            "cpu_s": None if verdict.cpu_s is None else round(verdict.cpu_s, 3),
            "image_id": image_id,
            **{name: self.facts[name] for name in _SHARED},
        }
        absent = RESULT_COLUMNS - configuration_of(row).result_columns
        self._results.write(
            {name: result[name] for name in ResultRow.__annotations__ if name not in absent}
        )

    def statuses(self, keys: Sequence[AnswerKey]) -> list[Status]:
        """Return the statuses of those answers that have a result."""
        return [self._results.statuses[key] for key in keys if key in self._results.statuses]

    def write_log(self, key: AnswerKey, log: str) -> None:
        """Keep the output of the tested code."""
        if log:
            path = self.folder.log_path(key.instance_id, key.sha256)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(log, encoding="utf-8")


def check_folder(path: Path, identity: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts of the run that a folder can begin or continue, and write nothing; raise what `open` raises."""
    if not RunFolder(path).exists:
        if path.exists() and not (path.is_dir() and _is_empty(path)):
            raise ArgumentError(
                "out", f"{path}: is not a run folder and not empty; use an empty folder"
            )
        return {
            "run_id": f"{path.resolve().name}-{uuid.uuid4().hex[:8]}",
            **identity,
            "started_at": now(),
        }
    facts = RunFolder(path).facts
    for name in IDENTITY:
        if name != "scope" and facts.get(name) != identity[name]:
            both = "" if name.endswith("_sha256") else f" ({facts.get(name)}, now {identity[name]})"
            problem = f"{path} holds a run with a different {name.removesuffix('_sha256')}{both}"
            raise ArgumentError(
                "out",
                f"{problem}, and results cannot be mixed; name another folder, or move this one away",
            )
    if left_out := facts["scope"].keys() - identity["scope"].keys():
        problem = f"{path} holds a run that also covers {join_names(sorted(left_out), 3)}; choose these `instances` as well"
        raise ArgumentError("out", f"{problem}, or name another folder")
    return {**facts, **{name: identity[name] for name in ("scope", "difficulties")}}


def with_all_answers(predictions: Iterable[Prediction], folder: RunFolder) -> Iterator[Prediction]:
    """Pass predictions on; ArgumentError, at the end, if an answer of the run is not among them."""
    missing, changed = {key.row: key.sha256 for key in folder.answers()}, list[AnswerKey]()
    for item in predictions:
        if missing.pop(item.key.row, item.sha256) != item.sha256:
            changed.append(item.key)
        yield item
    if changed or missing:
        fault = f"change: {changed[0]}" if changed else f"lack: {next(iter(missing))}"
        problem = (
            f"{folder.path} holds an answer that these predictions {fault}; name another folder"
        )
        raise ArgumentError("out", f"{problem}, or replace the answers of the run (`replace=True`)")


def _is_empty(path: Path) -> bool:
    """Return whether a folder is empty, or has only the files of a start that was killed at once."""
    found = {item.name: item.stat().st_size for item in path.iterdir()}
    return found.keys() <= {RESULTS, f".{RESULTS}.lock"} and not found.get(RESULTS)
