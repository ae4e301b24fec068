"""Evaluate predictions: plan the jobs, run them on parallel workers, write each result at once, resume a stopped run.

A job is a distinct answer to an instance; rows with equal answers share its verdict. Memory holds an index of the rows,
never their contents, so that ten thousand predictions need no more than a hundred.
"""

import concurrent.futures
import contextlib
import datetime
import secrets
import threading
import traceback
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...errors import InfraError, InputError, LMRBenchError
from ...loader import LoadError, dataset_sha256
from ...text import error_line
from ...version import __version__
from ..decode import Frame
from ..evaluator import Verdict, evaluate_prediction
from ..prediction_files import BadRow
from ..predictions import Prediction, read_predictions
from ..sandbox import Limits, Sandbox, Say
from ..tasks.record import read_expected, record_seeds
from ..verdict import CAUSES, Cause, Status
from ..workspace import rebuild
from .folder import Entry, RunFolder

#: So many jobs in a row that the machinery failed mean that it will not come back by itself.
GIVE_UP_AFTER = 3

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Settings:
    """What a user may choose for a run."""

    predictions: str
    out: Path
    dataset: str = "embedded"
    instances: Sequence[str] = ()
    categories: Sequence[str] = ()
    workers: int = 2
    timeout_scale: float = 1.0
    fresh_seeds: int = 0


class Progress:
    """What a run tells its user; the command line draws it, tests count it."""

    def start(self, jobs: int) -> None:
        """`jobs` distinct answers will be evaluated."""

    def done(self, instance_id: str, status: Status) -> None:
        """One of them has its verdict."""


@dataclass
class Finished:
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
    settings: Settings, rows: Sequence[Row], sandbox: Sandbox, say: Say, progress: Progress | None = None
) -> Finished:
    """Evaluate predictions against dataset rows and fill the run folder.

    Args:
        rows: all rows of the dataset (see `lmrbench_data.loader.load`).
        say: receives lines for the user.

    Raises:
        InputError: the predictions cannot be read, a name is unknown, or the folder belongs to another run.
        InfraError: the environment cannot be made available.
        KeyboardInterrupt: after the sandbox was emptied; finished results are kept.
    """
    progress = progress or Progress()
    scope = select(rows, settings.instances, settings.categories)
    identity = {
        "dataset": settings.dataset,
        "dataset_sha256": dataset_sha256(rows),
        "benchmark_version": rows[0]["benchmark_version"],
        "harness_version": __version__,
        "sandbox": sandbox.name,
        "official_sandbox": sandbox.official,
        "timeout_scale": settings.timeout_scale,
        "fresh_seed_count": settings.fresh_seeds,
        "scope": {instance_id: row["category"] for instance_id, row in scope.items()},
    }
    with RunFolder.open(settings.out, identity) as folder:
        finished = Finished()
        every = {str(row["instance_id"]): row for row in rows}
        entries = _take_in(read_predictions(settings.predictions, every), scope, folder, finished)
        if not entries and not finished.bad_rows:
            raise InputError(f"predictions {settings.predictions!r}: none for the chosen instances")
        pending = folder.pending(entries)
        jobs = folder.copy_known_results(pending)
        finished.rows, finished.jobs = len(entries), len(jobs)
        finished.kept = len(entries) - sum(map(len, pending.values()))
        if finished.kept:
            say(f"{folder.path}: {finished.kept} of {len(entries)} predictions were evaluated before; going on")
        folder.update(predictions=settings.predictions, complete=False, limits=Limits(0, 0).as_row())
        tags = sorted({str(scope[job.instance_id]["docker_image"]) for job in jobs})
        images = {tag: sandbox.prepare(tag, say) for tag in tags}
        folder.update(images={**folder.facts.get("images", {}), **images})
        progress.start(len(jobs))
        evaluator = _Evaluator(settings, scope, sandbox, images, folder)
        # Closed at once when anything goes wrong in here: sandboxes first, then the threads that wait for them.
        with contextlib.closing(_in_parallel(evaluator, list(jobs), settings.workers, finished)) as verdicts:
            for job, verdict in verdicts:
                folder.write_log(job, verdict.log)
                for entry in jobs[job]:
                    folder.append(entry, _result(entry, scope[job.instance_id], verdict, images, folder.facts))
                progress.done(job.instance_id, verdict.status)
        finished.infra_errors = sum(status is Status.INFRA_ERROR for status in folder.statuses(entries))
        complete = not finished.stopped and not finished.infra_errors
        folder.update(complete=complete, bad_rows=[str(bad) for bad in finished.bad_rows], finished_at=_now())
    return finished


def select(rows: Sequence[Row], instances: Sequence[str], categories: Sequence[str]) -> dict[str, Row]:
    """The rows of a run by instance id.

    Raises:
        InputError: an instance or category is unknown, or nothing is left.
    """
    known = {str(row["instance_id"]): row for row in rows}
    if unknown := [name for name in instances if name not in known]:
        raise InputError(f"--instance {unknown[0]}: unknown; see `lmrbench tasks list`")
    available = sorted({str(row["category"]) for row in rows})
    if unknown := [name for name in categories if name not in available]:
        raise InputError(f"--category {unknown[0]!r}: unknown; one of: {'; '.join(available)}")
    chosen = {
        name: row
        for name, row in known.items()
        if (not instances or name in instances) and (not categories or row["category"] in categories)
    }
    if not chosen:
        raise InputError("--instance and --category together leave no instance")
    return chosen


def _take_in(
    items: Iterator[Prediction | BadRow], scope: Mapping[str, Row], folder: RunFolder, finished: Finished
) -> list[Entry]:
    """Copy the predictions of the scope into the run folder; collect bad rows."""
    with folder.predictions_writer() as write:
        for item in items:
            if isinstance(item, BadRow):
                finished.bad_rows.append(item)
            elif item.instance_id in scope:
                write(item)
    return folder.entries


class _Evaluator:
    """Evaluates one job on a worker thread."""

    def __init__(
        self,
        settings: Settings,
        scope: Mapping[str, Row],
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
            return evaluate_prediction(
                self.scope[job.instance_id],
                self.folder.prediction(job),
                self.sandbox,
                self.images[self.scope[job.instance_id]["docker_image"]],
                expected=self._expected_frames(job.instance_id),
                timeout_scale=self.settings.timeout_scale,
                stop=self._stop,
            )
        except InfraError as error:
            return Verdict(CAUSES[Cause.ENGINE].status, [], "", 0.0, str(error))
        except (LMRBenchError, LoadError):
            raise
        except Exception as error:
            detail = f"a bug in lmrbench, please report it: {type(error).__name__}: {error_line(error)}"
            return Verdict(CAUSES[Cause.ENGINE].status, [], traceback.format_exc(), 0.0, detail)

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
    evaluator: _Evaluator, jobs: Sequence[Entry], workers: int, finished: Finished
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
                failures = failures + 1 if verdict.status is Status.INFRA_ERROR else 0
                yield flying.pop(future), verdict
                if failures >= GIVE_UP_AFTER:
                    finished.stopped = verdict.detail
                    return
            fill()
    finally:
        if flying:
            evaluator.stop()
        pool.shutdown(wait=True, cancel_futures=True)


def _result(
    entry: Entry, row: Row, verdict: Verdict, images: Mapping[str, str], facts: Mapping[str, Any]
) -> dict[str, Any]:
    """A row of results.jsonl (design: predictions and results)."""
    return {
        "run_id": facts["run_id"],
        "instance_id": entry.instance_id,
        "category": row["category"],
        "model_name_or_path": entry.model,
        "setting": entry.setting,
        "sample": entry.sample,
        "prediction_sha256": entry.sha256,
        "status": str(verdict.status),
        "detail": verdict.detail,
        "cases": [case.as_row() for case in verdict.cases],
        "judge": None,
        "duration_s": round(verdict.duration_s, 3),
        "sandbox": facts["sandbox"],
        "image_id": images[row["docker_image"]],
        "dataset": facts["dataset"],
        "dataset_sha256": facts["dataset_sha256"],
        "harness_version": facts["harness_version"],
        "started_at": facts["started_at"],
    }


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
