"""Evaluate predictions: plan the jobs, run them on parallel workers, write each result at once, resume a stopped run.

A job is a distinct answer to an instance; rows with equal answers share its verdict. Memory holds an index of the rows,
never their contents, so that ten thousand predictions need no more than a hundred.
"""

import contextlib
import logging
import secrets
import threading
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lmrbench_data.base.errors import ArgumentError, InfraError, InputError, LMRBenchError, OverloadError
from lmrbench_data.base.jobs import Failures, run_jobs
from lmrbench_data.base.progress import Progress
from lmrbench_data.base.text import error_line
from lmrbench_data.base.times import now
from lmrbench_data.base.version import __version__
from lmrbench_data.dataset.rows import DatasetRow, ResultRow, check_instances
from lmrbench_data.loader import LoadError, check_row, dataset_sha256, recordings_sha256

from ..predictions.prediction import Prediction, read_predictions
from ..predictions.sources import BadRow, Source, source_name
from ..rebuild.workspace import rebuild
from ..sandbox.base import Limits, Sandbox
from ..verdict.decode import Frame, StreamError
from ..verdict.evaluator import evaluate_prediction
from ..verdict.expected import read_expected, record_seeds
from ..verdict.levels import outcome
from ..verdict.verdict import Cause, Status, Verdict
from .default_folder import default_folder
from .eligibility import BENCHMARK, benchmark_of
from .folder import Entry, RunFolder
from .load import Load
from .settings import RunSettings

_log = logging.getLogger(__name__)


@dataclass
class RunSummary:
    """What a run came to."""

    path: Path
    """The run folder."""
    bad_rows: list[BadRow] = field(default_factory=list)
    rows: int = 0
    """Prediction rows in the run."""
    kept: int = 0
    """Of them, rows whose result was there already."""
    jobs: int = 0
    """Distinct answers evaluated now."""
    stopped: str = ""
    """Why the run ended early, if it did."""
    infra_errors: int = 0


def evaluate(
    predictions: Source,
    settings: RunSettings,
    rows: Sequence[DatasetRow],
    sandbox: Sandbox,
    progress: Progress | None = None,
) -> RunSummary:
    """Evaluate predictions against dataset rows and fill the run folder.

    Args:
        predictions: what `predictions.read_predictions` takes.
        rows: all rows of the dataset (see `lmrbench_data.loader.load_rows`).
        progress: told of each distinct answer; the label is what it came to (`levels.OUTCOMES`).

    Raises:
        InputError: the predictions cannot be read, a name is unknown, or the folder belongs to another run.
        LoadError: a row has a name or path that leads elsewhere.
        InfraError: the environment cannot be made available.
        KeyboardInterrupt: after the sandbox was emptied; finished results are kept.
    """
    progress = progress or Progress()
    scope = select(rows, settings.instances, settings.categories)
    for row in scope.values():  # rows in memory have not been through the loader
        check_row(row, "dataset")
    if untested := [name for name, row in scope.items() if not row["tests"]["cases"]]:
        problem = f"{untested[0]!r} has no test cases: its answers can be judged, not evaluated"
        raise ArgumentError("dataset", problem)
    identity = {
        "dataset": settings.dataset,
        BENCHMARK: benchmark_of(rows[0]["canary"]),
        "dataset_sha256": dataset_sha256(rows),
        "recordings_sha256": recordings_sha256(rows),
        "benchmark_version": rows[0]["benchmark_version"],
        "harness_version": __version__,
        "sandbox": sandbox.name,
        "official_sandbox": sandbox.official,
        "timeout_scale": settings.timeout_scale,
        "fresh_seed_count": settings.fresh_seeds,
        "scope": {instance_id: row["category"] for instance_id, row in scope.items()},
    }
    out = settings.out or default_folder(predictions, settings.instances, settings.categories)
    with RunFolder.open(out, identity) as folder:
        summary = RunSummary(out)
        every = {row["instance_id"]: row for row in rows}
        entries = _take_in(read_predictions(predictions, every, settings.map), scope, folder, summary)
        if not entries and not summary.bad_rows:
            what = "none for the chosen instances" if len(scope) < len(every) else "no rows"
            raise InputError(f"predictions {source_name(predictions)!r}: {what}")
        if entries and (unanswered := len(scope.keys() - {entry.instance_id for entry in entries})):
            told = "have no answer and count as not passed; choose `instances` to leave them out"
            _log.warning("%d of %d instances %s", unanswered, len(scope), told)
        pending = folder.pending(entries)
        jobs = folder.copy_known_results(pending)
        summary.rows, summary.jobs = len(entries), len(jobs)
        summary.kept = len(entries) - sum(map(len, pending.values()))
        if summary.kept:
            done = f"{summary.kept} of {len(entries)} predictions were evaluated before"
            _log.info("%s: %s; resuming", folder.path, done)
        source = {"predictions": source_name(predictions), "map": dict(settings.map or {})}
        folder.update(**source, complete=False, limits=Limits(0, 0).as_row())
        tags = sorted({scope[job.instance_id]["docker_image"] for job in jobs})
        images = {tag: sandbox.prepare(tag) for tag in tags}
        folder.update(images={**folder.facts.get("images", {}), **images})
        progress.start(len(jobs))
        load = Load(folder.facts, settings.workers)
        evaluator = _Evaluator(settings, scope, sandbox, images, folder)
        failures = Failures()
        done = run_jobs(jobs, evaluator.evaluate, settings.workers, stop=evaluator.stop, ahead=1)
        with contextlib.closing(done):
            for job, future in done:
                verdict = future.result()
                folder.write_log(job, verdict.log)
                load.note(verdict)
                for entry in jobs[job]:
                    folder.append(entry, _result(entry, scope[job.instance_id], verdict, images, folder.facts))
                progress.step(str(outcome(verdict.status, verdict.core_status)))
                if failures.note(verdict.cause in (Cause.ENGINE, Cause.OVERLOAD)):
                    summary.stopped = verdict.detail
                    break
        summary.infra_errors = sum(status is Status.INFRA_ERROR for status in folder.statuses(entries))
        complete = not summary.stopped and not summary.infra_errors
        folder.update(
            **load.facts(), complete=complete, bad_rows=[str(bad) for bad in summary.bad_rows], finished_at=now()
        )
    return summary


def select(rows: Sequence[DatasetRow], instances: Sequence[str], categories: Sequence[str]) -> dict[str, DatasetRow]:
    """The rows of a run by instance id.

    Raises:
        ArgumentError: an instance or category is unknown, or nothing is left.
    """
    known = {row["instance_id"]: row for row in rows}
    check_instances(instances, known)
    available = sorted({row["category"] for row in rows})
    if unknown := [name for name in categories if name not in available]:
        raise ArgumentError("categories", f"{unknown[0]!r} is unknown; one of: {'; '.join(available)}")
    chosen = {
        name: row
        for name, row in known.items()
        if (not instances or name in instances) and (not categories or row["category"] in categories)
    }
    if not chosen:
        raise ArgumentError("instances", "none of them is in the chosen categories")
    return chosen


def _take_in(
    items: Iterator[Prediction | BadRow], scope: Mapping[str, DatasetRow], folder: RunFolder, summary: RunSummary
) -> list[Entry]:
    """Copy the predictions of the scope into the run folder; collect bad rows."""
    with folder.predictions_writer() as write:
        for item in items:
            if isinstance(item, BadRow):
                summary.bad_rows.append(item)
            elif item.instance_id in scope:
                write(item)
    return folder.entries


class _Evaluator:
    """Evaluates one job on a worker thread."""

    def __init__(
        self,
        settings: RunSettings,
        scope: Mapping[str, DatasetRow],
        sandbox: Sandbox,
        images: Mapping[str, str],
        folder: RunFolder,
    ) -> None:
        self.settings, self.scope, self.sandbox, self.images, self.folder = settings, scope, sandbox, images, folder
        self._stop = threading.Event()
        self._expected: dict[str, list[Frame]] = {}
        self._locks = {instance_id: threading.Lock() for instance_id in scope}
        seeds = folder.facts.get("fresh_seeds") or [secrets.randbelow(2**31) for _ in range(settings.fresh_seeds)]
        folder.update(fresh_seeds=seeds)

    def evaluate(self, job: Entry) -> Verdict:
        """The verdict on one answer. Only the user's mistakes are raised: nothing in an answer may end a run."""
        try:
            return self._evaluate(self.folder.prediction(job))
        except OverloadError as error:
            return Verdict.without_cases(Cause.OVERLOAD, str(error))
        except InfraError as error:
            return Verdict.without_cases(Cause.ENGINE, str(error))
        except (StreamError, LoadError) as error:
            return Verdict.without_cases(Cause.DATASET, f"the dataset's row cannot be read: {error_line(error)}")
        except LMRBenchError:
            raise
        except Exception as error:
            detail = f"a bug in lmrbench, please report it: {type(error).__name__}: {error_line(error)}"
            return Verdict.without_cases(Cause.BUG, detail, log=traceback.format_exc())

    def _evaluate(self, prediction: Prediction) -> Verdict:
        row = self.scope[prediction.instance_id]
        return evaluate_prediction(
            row,
            prediction,
            self.sandbox,
            self.images[row["docker_image"]],
            expected=self._expected_frames(row["instance_id"]),
            timeout_scale=self.settings.timeout_scale,
            stop=self._stop,
        )

    def stop(self) -> None:
        """Empty the sandbox and let `evaluate` calls on other threads come back soon."""
        self._stop.set()
        self.sandbox.close()

    def _expected_frames(self, instance_id: str) -> list[Frame]:
        """The recorded outputs of an instance, those of fresh seeds among them; made once."""
        row = self.scope[instance_id]
        with self._locks[instance_id]:
            if instance_id not in self._expected:
                frames = read_expected(row)
                if seeds := self.folder.facts["fresh_seeds"]:
                    golden = Prediction(instance_id, "gold", "goal_file", row["golden_file"])
                    image = self.images[row["docker_image"]]
                    frames += record_seeds(
                        row, rebuild(row, golden), self.sandbox, image, seeds, timeout_scale=self.settings.timeout_scale
                    )
                self._expected[instance_id] = frames
            return self._expected[instance_id]


def _result(
    entry: Entry, row: DatasetRow, verdict: Verdict, images: Mapping[str, str], facts: Mapping[str, Any]
) -> ResultRow:
    """A row of results.jsonl."""
    return {
        "run_id": facts["run_id"],
        "instance_id": entry.instance_id,
        "category": row["category"],
        "model_name_or_path": entry.model,
        "setting": entry.setting,
        "track": entry.track,
        "sample": entry.sample,
        "prediction_sha256": entry.sha256,
        "status": str(verdict.status),
        "core_status": str(verdict.core_status),
        "detail": verdict.detail,
        "memorised": verdict.memorised(row["tests"]["seeds"]),
        "core_memorised": verdict.memorised(row["tests"]["seeds"], core=True),
        "cases": [case.as_row() for case in verdict.cases],
        "duration_s": round(verdict.duration_s, 3),
        "cpu_s": None if verdict.cpu_s is None else round(verdict.cpu_s, 3),
        "sandbox": facts["sandbox"],
        "image_id": images[row["docker_image"]],
        "dataset": facts["dataset"],
        "dataset_sha256": facts["dataset_sha256"],
        "recordings_sha256": facts["recordings_sha256"],
        "harness_version": facts["harness_version"],
        "started_at": facts["started_at"],
    }
