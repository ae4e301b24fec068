"""Evaluate predictions: plan the jobs, run them on parallel workers, write each result at once, resume a stopped run.

A job is a distinct answer to an instance; rows with equal answers share its verdict. Memory holds an index of the rows,
never their contents, so that ten thousand predictions need no more than a hundred.
"""

import concurrent.futures
import contextlib
import logging
import secrets
import threading
import traceback
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...errors import ArgumentError, InfraError, InputError, LMRBenchError
from ...loader import LoadError, dataset_sha256, recordings_sha256
from ...progress import Progress
from ...rows import DatasetRow, ResultRow
from ...text import error_line
from ...times import now
from ...version import __version__
from ..decode import Frame, StreamError
from ..evaluator import evaluate_prediction
from ..expected import read_expected, record_seeds
from ..levels import outcome
from ..prediction_files import BadRow, Source, source_name
from ..predictions import Prediction, read_predictions
from ..sandbox.base import Limits, Sandbox
from ..script import SCRIPT, check_scripts, is_script
from ..verdict import Cause, Status, Verdict
from ..workspace import rebuild
from .folder import Entry, RunFolder
from .standing import BENCHMARK, PROTOCOL, benchmark_of

_log = logging.getLogger(__name__)

#: So many jobs in a row that the engine failed mean that it will not come back by itself.
GIVE_UP_AFTER = 3


@dataclass(frozen=True)
class RunSettings:
    """What a user may choose for a run."""

    out: Path
    dataset: str = "embedded"
    instances: Sequence[str] = ()
    categories: Sequence[str] = ()
    workers: int = 2
    timeout_scale: float = 1.0
    fresh_seeds: int = 0
    columns: Mapping[str, str] = field(default_factory=dict)
    """Of predictions that have other names: their column → our key."""


@dataclass
class RunSummary:
    """What a run came to."""

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
        InfraError: the environment cannot be made available.
        KeyboardInterrupt: after the sandbox was emptied; finished results are kept.
    """
    progress = progress or Progress()
    scope = select(rows, settings.instances, settings.categories)
    check_scripts(list(scope.values()), settings.fresh_seeds)
    scripts = any(map(is_script, scope.values()))
    identity = {
        "dataset": settings.dataset,
        BENCHMARK: benchmark_of(rows[0]["canary"]),
        "dataset_sha256": dataset_sha256(rows),
        "recordings_sha256": recordings_sha256(rows),
        "benchmark_version": rows[0]["benchmark_version"],
        "harness_version": __version__,
        "sandbox": sandbox.name,
        "official_sandbox": sandbox.official and not scripts,
        **({PROTOCOL: SCRIPT} if scripts else {}),
        "timeout_scale": settings.timeout_scale,
        "fresh_seed_count": settings.fresh_seeds,
        "scope": {instance_id: row["category"] for instance_id, row in scope.items()},
    }
    with RunFolder.open(settings.out, identity) as folder:
        summary = RunSummary()
        every = {row["instance_id"]: row for row in rows}
        entries = _take_in(read_predictions(predictions, every, settings.columns), scope, folder, summary)
        if not entries and not summary.bad_rows:
            raise InputError(f"predictions {source_name(predictions)!r}: none for the chosen instances")
        pending = folder.pending(entries)
        jobs = folder.copy_known_results(pending)
        summary.rows, summary.jobs = len(entries), len(jobs)
        summary.kept = len(entries) - sum(map(len, pending.values()))
        if summary.kept:
            done = f"{summary.kept} of {len(entries)} predictions were evaluated before"
            _log.info("%s: %s; resuming", folder.path, done)
        source = {"predictions": source_name(predictions), "map": dict(settings.columns)}
        folder.update(**source, complete=False, limits=Limits(0, 0).as_row())
        tags = sorted({scope[job.instance_id]["docker_image"] for job in jobs})
        images = {tag: sandbox.prepare(tag) for tag in tags}
        folder.update(images={**folder.facts.get("images", {}), **images})
        progress.start(len(jobs))
        evaluator = _Evaluator(settings, scope, sandbox, images, folder)
        # Closed at once when anything goes wrong in here: sandboxes first, then the threads that wait for them.
        with contextlib.closing(_in_parallel(evaluator, list(jobs), settings.workers, summary)) as verdicts:
            for job, verdict in verdicts:
                folder.write_log(job, verdict.log)
                for entry in jobs[job]:
                    folder.append(entry, _result(entry, scope[job.instance_id], verdict, images, folder.facts))
                progress.step(str(outcome(verdict.status, verdict.core_status)))
        summary.infra_errors = sum(status is Status.INFRA_ERROR for status in folder.statuses(entries))
        complete = not summary.stopped and not summary.infra_errors
        folder.update(complete=complete, bad_rows=[str(bad) for bad in summary.bad_rows], finished_at=now())
    return summary


def select(rows: Sequence[DatasetRow], instances: Sequence[str], categories: Sequence[str]) -> dict[str, DatasetRow]:
    """The rows of a run by instance id.

    Raises:
        ArgumentError: an instance or category is unknown, or nothing is left.
    """
    known = {row["instance_id"]: row for row in rows}
    if unknown := [name for name in instances if name not in known]:
        raise ArgumentError("instances", f"{unknown[0]!r} is unknown; see `lmrbench tasks list`")
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
        self._golden: dict[str, Verdict] = {}
        self._locks = {instance_id: threading.Lock() for instance_id in scope}
        seeds = folder.facts.get("fresh_seeds") or [secrets.randbelow(2**31) for _ in range(settings.fresh_seeds)]
        folder.update(fresh_seeds=seeds)

    def evaluate(self, job: Entry) -> Verdict:
        """The verdict on one answer. Only the user's mistakes are raised: nothing in an answer may end a run."""
        try:
            prediction = self.folder.prediction(job)
            return self._broken(prediction) or self._evaluate(prediction)
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
            expected=None if is_script(row) else self._expected_frames(row["instance_id"]),
            timeout_scale=self.settings.timeout_scale,
            stop=self._stop,
        )

    def _broken(self, prediction: Prediction) -> Verdict | None:
        """The verdict on an answer whose test script does not pass the reference here, where nobody can be graded."""
        row = self.scope[prediction.instance_id]
        golden = Prediction(row["instance_id"], "gold", "goal_file", row["golden_file"])
        if not is_script(row) or prediction.sha256 == golden.sha256:
            return None
        with self._locks[row["instance_id"]]:
            if row["instance_id"] not in self._golden:
                self._golden[row["instance_id"]] = self._evaluate(golden)
            verdict = self._golden[row["instance_id"]]
            if verdict.cause is Cause.ENGINE:  # the next answer may find it working again
                return self._golden.pop(row["instance_id"])
        if verdict.status is Status.PASSED:
            return None
        reason = (verdict.cases[0].detail if verdict.cases else verdict.detail).partition("\n")[0]
        detail = f"its test script does not pass the golden file here: {reason}"
        return Verdict.without_cases(Cause.DATASET, detail, log=verdict.log)

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


def _in_parallel(
    evaluator: _Evaluator, jobs: Sequence[Entry], workers: int, summary: RunSummary
) -> Generator[tuple[Entry, Verdict]]:
    """Yield verdicts as they come; few jobs are in flight at a time, whatever their number."""
    failures = 0
    rest = iter(jobs)
    flying: dict[concurrent.futures.Future[Verdict], Entry] = {}
    pool = concurrent.futures.ThreadPoolExecutor(workers, thread_name_prefix="evaluate")

    def fill() -> None:
        while len(flying) < workers + 1 and (job := next(rest, None)) is not None:
            flying[pool.submit(evaluator.evaluate, job)] = job

    try:
        fill()
        while flying:
            ready, _ = concurrent.futures.wait(flying, return_when=concurrent.futures.FIRST_COMPLETED)
            for future in ready:
                verdict = future.result()
                failures = failures + 1 if verdict.cause is Cause.ENGINE else 0
                yield flying.pop(future), verdict
                if failures >= GIVE_UP_AFTER:
                    summary.stopped = verdict.detail
                    return
            fill()
    finally:
        if flying:
            evaluator.stop()
        pool.shutdown(wait=True, cancel_futures=True)


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
        "sandbox": facts["sandbox"],
        "image_id": images[row["docker_image"]],
        "dataset": facts["dataset"],
        "dataset_sha256": facts["dataset_sha256"],
        "recordings_sha256": facts["recordings_sha256"],
        "harness_version": facts["harness_version"],
        "started_at": facts["started_at"],
    }
