"""Evaluate predictions: plan the jobs, have an engine run them, write each result at once, resume a stopped run.

A job is a distinct answer to an instance; rows with equal answers share its verdict. Memory holds an index of the
predictions, never their contents: ten thousand take no more memory than a hundred.
"""

import contextlib
import logging
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lmrbench_data.base.configurations import configuration_of
from lmrbench_data.base.errors import ArgumentError, InputError
from lmrbench_data.base.files import now
from lmrbench_data.base.jobs import Failures, Progress, follow_jobs
from lmrbench_data.base.text import plural
from lmrbench_data.base.version import __version__
from lmrbench_data.dataset.rows import DatasetRow, check_instances
from lmrbench_data.loader import check_row, dataset_sha256, recordings_sha256

from ..predictions.prediction import AnswerKey, Prediction
from ..predictions.reading import NEEDED, read_predictions, wrong_columns
from ..predictions.sources import BadRow, Source, first_columns, source_name
from ..sandbox.base import Limits, Sandbox
from ..verdict.expected import draw_seeds
from ..verdict.levels import Level, outcome
from ..verdict.verdict import Cause, Status, Verdict
from .engine import Conditions, Engine, Threads
from .folder import BENCHMARK, RunFolder, benchmark_of, default_run_folder
from .settings import WORKERS, RunSettings
from .writer import RunWriter, check_folder, with_all_answers

_log = logging.getLogger(__name__)


@dataclass
class RunSummary:
    """The outcome of a call of `evaluate`."""

    path: Path
    """The run folder."""
    bad_rows: list[BadRow] = field(default_factory=list)
    rows: int = 0
    """Prediction rows in the run."""
    kept: int = 0
    """Rows whose result was there already."""
    jobs: int = 0
    """Distinct answers evaluated in this call."""
    stopped: str = ""
    """The reason why the run ended early, if it did."""
    infra_errors: int = 0


def evaluate(
    predictions: Source,
    settings: RunSettings,
    rows: Sequence[DatasetRow],
    place: Sandbox | Engine,
    progress: Progress | None = None,
) -> RunSummary:
    """Evaluate predictions against dataset rows and fill the run folder.

    Args:
        predictions: any source of `predictions.read_predictions`.
        rows: all rows of the dataset (see `lmrbench_data.loader.load_rows`).
        place: where answers run: an engine, or a sandbox, which threads of this process share.
        progress: receives each distinct answer; the label is its outcome (`levels.OUTCOMES`).

    Raises:
        InputError: the predictions cannot be read, a name is unknown, or the folder belongs to another run.
        LoadError: a row has a name or path that leads elsewhere.
        InfraError: an environment is not available.
        KeyboardInterrupt: the sandbox is empty, and finished results are kept.
    """
    scope, engine, identity = _plan_run(settings, rows, place)
    out = settings.out or default_run_folder(
        predictions, settings.config, settings.instances, settings.categories
    )
    with engine, RunWriter.open(out, identity) as writer:
        summary = RunSummary(out)
        keys = _add_predictions(predictions, settings, rows, scope, writer, summary)
        writer.update(predictions=source_name(predictions), complete=False)
        jobs = _plan(keys, writer, summary)
        images = engine.prepare(sorted({scope[job.instance_id]["docker_image"] for job in jobs}))
        images_so_far = {**writer.facts["images"], **images}
        writer.update(images=images_so_far, engine=engine.facts, isolation=engine.isolation)
        engine.begin(Conditions(images, writer.facts["fresh_seeds"], settings.timeout_scale))
        summary.stopped = _run(jobs, scope, writer, engine, images, progress or Progress())
        summary.infra_errors = sum(status is Status.INFRA_ERROR for status in writer.statuses(keys))
        complete = not summary.stopped and not summary.infra_errors
        bad_rows = [str(bad) for bad in summary.bad_rows]
        writer.update(complete=complete, bad_rows=bad_rows, finished_at=now())
    return summary


def check_run(
    settings: RunSettings, rows: Sequence[DatasetRow], place: Sandbox | Engine, predictions: Path
) -> None:
    """Check before long work that `evaluate` can begin or continue its run folder; raise its errors, write nothing.

    Args:
        predictions: the file that the work will add to.
    """
    assert settings.out is not None
    check_folder(settings.out, _plan_run(settings, rows, place)[2])
    folder = RunFolder(settings.out)
    if folder.exists and not settings.replace:
        known = {row["instance_id"]: row for row in rows}
        items = read_predictions(predictions if predictions.exists() else [], known)
        deque(
            with_all_answers((item for item in items if isinstance(item, Prediction)), folder),
            maxlen=0,
        )


def _plan_run(
    settings: RunSettings, rows: Sequence[DatasetRow], place: Sandbox | Engine
) -> tuple[dict[str, DatasetRow], Engine, dict[str, Any]]:
    """Return the chosen rows, the engine, and the facts that a run begins with."""
    scope = select(rows, settings.instances, settings.categories)
    for row in scope.values():  # rows in memory have not been through the loader
        check_row(row, "dataset")
        if not row["tests"]["cases"]:
            problem = f"{row['instance_id']!r} has no test cases: its answers can be judged, but not evaluated"
            raise ArgumentError("dataset", problem)
    engine = place if isinstance(place, Engine) else Threads(place, settings.workers or WORKERS)
    identity = {
        "dataset": settings.dataset,
        "config": settings.config,
        BENCHMARK: benchmark_of(rows[0]["canary"]),
        "dataset_sha256": dataset_sha256(rows),
        "recordings_sha256": recordings_sha256(rows),
        "benchmark_version": rows[0]["benchmark_version"],
        "harness_version": __version__,
        "sandbox": engine.sandbox,
        "official_sandbox": engine.official,
        "timeout_scale": settings.timeout_scale,
        "fresh_seed_count": settings.fresh_seeds,
        "scope": {name: row["category"] for name, row in scope.items()},
        "difficulties": {
            name: row["difficulty"] for name, row in scope.items() if "difficulty" in row
        },
        "fresh_seeds": draw_seeds(settings.fresh_seeds),
        "limits": Limits(0, 0).as_row(),
        "images": {},
    }
    return scope, engine, identity


def _add_predictions(
    predictions: Source,
    settings: RunSettings,
    rows: Sequence[DatasetRow],
    scope: Mapping[str, DatasetRow],
    writer: RunWriter,
    summary: RunSummary,
) -> list[AnswerKey]:
    """Copy the predictions for the instances of the scope into the run folder; collect bad rows."""

    def in_scope() -> Iterator[Prediction]:
        known = {row["instance_id"]: row for row in rows}
        is_new, is_empty = not writer.folder.predictions.path.exists(), True
        for item in read_predictions(predictions, known, settings.dataset):
            if isinstance(item, BadRow):
                summary.bad_rows.append(item)
            elif item.instance_id in scope:
                is_empty = False
                yield item
        # The new folder of instances without an answer stays: merged with others, they count as not passed.
        if is_empty and (summary.bad_rows or not is_new or not first_columns(predictions)):
            raise _no_predictions(predictions, summary.bad_rows)

    try:
        keys = writer.take_predictions(in_scope(), settings.replace)
    except InputError:
        writer.discard()
        raise
    if not keys:
        raise _no_predictions(predictions, summary.bad_rows)
    if unanswered := len(scope.keys() - {key.instance_id for key in keys}):
        consequence = "no answer, so they count as not passed; to leave them out, select the others with `instances`"
        _log.warning("%d of %s: %s", unanswered, plural(len(scope), "instance"), consequence)
    return keys


def _plan(
    keys: Sequence[AnswerKey], writer: RunWriter, summary: RunSummary
) -> dict[AnswerKey, list[AnswerKey]]:
    """Return the distinct answers to evaluate, each with all answers that share its verdict."""
    pending = writer.pending(keys)
    jobs = writer.copy_results(pending)
    summary.rows, summary.jobs = len(keys), len(jobs)
    summary.kept = len(keys) - sum(map(len, pending.values()))
    if summary.kept:
        _log.info(
            "%s: %d of %d predictions were evaluated before; resuming",
            summary.path,
            summary.kept,
            len(keys),
        )
    return jobs


def select(
    rows: Sequence[DatasetRow], instances: Sequence[str], categories: Sequence[str]
) -> dict[str, DatasetRow]:
    """Return the chosen rows by instance id; ArgumentError if a name is unknown or no row is left."""
    known = {row["instance_id"]: row for row in rows}
    check_instances(instances, known)
    available = sorted({row["category"] for row in rows})
    if unknown := [name for name in categories if name not in available]:
        raise ArgumentError("categories", f"{unknown[0]!r} must be one of: {'; '.join(available)}")
    chosen = {
        name: row
        for name, row in known.items()
        if (not instances or name in instances)
        and (not categories or row["category"] in categories)
    }
    if not chosen:
        raise ArgumentError("instances", "none of them is in the chosen categories")
    return chosen


def _no_predictions(predictions: Source, bad_rows: Sequence[BadRow]) -> InputError:
    """Return the error for a source without a prediction to evaluate, with its columns if its format is another."""
    columns = first_columns(predictions)
    reason = "none for the chosen instances" if columns else f"no rows; {NEEDED}"
    if bad_rows:
        _, is_missing, key = bad_rows[0].reason.partition("missing key ")
        fix = wrong_columns(columns, key[1:-1]) if is_missing else NEEDED
        reason = f"no row can be evaluated ({bad_rows[0]}); {fix}"
    return InputError(f"predictions {source_name(predictions)!r}: {reason}")


def _run(
    jobs: Mapping[AnswerKey, Sequence[AnswerKey]],
    scope: Mapping[str, DatasetRow],
    writer: RunWriter,
    engine: Engine,
    images: Mapping[str, str],
    progress: Progress,
) -> str:
    """Run the jobs and write their results; return why the run ended early, empty if it did not."""
    progress.start(len(jobs))
    failures = Failures()

    def submit(job: AnswerKey) -> Future[Verdict]:
        return engine.submit(scope[job.instance_id], writer.prediction(job))

    done = follow_jobs(jobs, submit, slots=engine.slots, stop=engine.stop)
    with contextlib.closing(done):
        for job, future in done:
            verdict, row = future.result(), scope[job.instance_id]
            writer.write_log(job, verdict.log)
            for key in jobs[job]:
                writer.append(key, verdict, row, images[row["docker_image"]])
            reached = outcome(verdict.status, verdict.core_status)
            # Without a contract, all cases are core cases: the two levels are one.
            is_one = reached == Level.ROBUST and not configuration_of(row).has_contract
            progress.step(str(Level.REPRODUCED if is_one else reached))
            if failures.note(verdict.cause in (Cause.ENGINE, Cause.OVERLOAD)):
                return verdict.detail
    return ""
