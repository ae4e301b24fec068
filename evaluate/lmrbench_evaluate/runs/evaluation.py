"""Evaluate predictions: plan the jobs, run them on an engine, write each result at once, resume.

A job is a distinct answer to an instance; rows with equal answers share its verdict. Memory holds
an index of the predictions, never their contents: ten thousand take no more than a hundred.
"""

import contextlib
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from ..predictions.reading import NEEDED, read_predictions, wrong_columns, wrong_object
from ..predictions.sources import BadRow, Source, first_columns, source_name
from ..sandbox.base import Limits, Sandbox
from ..verdict.expected import draw_seeds
from ..verdict.levels import Level, outcome
from ..verdict.verdict import Cause, Verdict
from .engine import Conditions, Engine, Threads
from .folder import BENCHMARK, RunFolder, benchmark_of, default_run_folder
from .settings import WORKERS, RunSettings
from .writer import RunWriter, check_answers, check_folder

_log = logging.getLogger(__name__)
_UNANSWERED = "they count as not passed; to leave them out, select the others with `instances`"
#: A distinct answer → all answers that share its verdict.
_Jobs = dict[AnswerKey, list[AnswerKey]]


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
    """The reason why the run ended early; empty if it did not."""
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
        InputError: the predictions cannot be read, a name is unknown, or the folder belongs to
            another run.
        LoadError: a row has a name or path that leads elsewhere.
        InfraError: an environment is not available.
        KeyboardInterrupt: the sandbox is empty, and finished results are kept.
    """
    scope = _choose_rows(settings, rows)
    engine = _open_engine(settings, place)
    out = settings.out or default_run_folder(
        predictions, settings.config, settings.instances, settings.categories
    )
    with engine, RunWriter.open(out, _first_facts(settings, rows, scope, engine)) as writer:
        evaluation = _Evaluation(settings, rows, scope, engine, writer)
        keys = evaluation.add_predictions(predictions)
        jobs = evaluation.plan(keys)
        evaluation.prepare(jobs)
        evaluation.run(jobs, progress or Progress())
        return evaluation.finish(keys)


def check_run(
    settings: RunSettings, rows: Sequence[DatasetRow], place: Sandbox | Engine, predictions: Path
) -> None:
    """Check before long work that `evaluate` can begin or continue its run folder.

    It raises the errors of `evaluate`, and writes nothing.

    Args:
        predictions: the file that the work will add to.
    """
    assert settings.out is not None
    scope = _choose_rows(settings, rows)
    facts = _first_facts(settings, rows, scope, _open_engine(settings, place))
    check_folder(settings.out, facts)
    folder = RunFolder(settings.out)
    if folder.exists and not settings.replace:
        items = read_predictions(predictions if predictions.exists() else [], scope)
        check_answers((item for item in items if isinstance(item, Prediction)), folder)


def _choose_rows(settings: RunSettings, rows: Sequence[DatasetRow]) -> dict[str, DatasetRow]:
    """Return the chosen rows by instance id, all of which can be evaluated."""
    scope = select(rows, settings.instances, settings.categories)
    for name, row in scope.items():
        check_row(row, "dataset")  # rows in memory have not been through the loader
        if not row["tests"]["cases"]:
            problem = f"{name!r} has no test cases: its answers can be judged, but not evaluated"
            raise ArgumentError("dataset", problem)
    return scope


def _open_engine(settings: RunSettings, place: Sandbox | Engine) -> Engine:
    if isinstance(place, Engine):
        return place
    return Threads(place, settings.workers or WORKERS)


def _first_facts(
    settings: RunSettings,
    rows: Sequence[DatasetRow],
    scope: Mapping[str, DatasetRow],
    engine: Engine,
) -> dict[str, Any]:
    """Return the facts that a run begins with."""
    return {
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


class _Evaluation:
    """An evaluation into an open run folder."""

    def __init__(
        self,
        settings: RunSettings,
        rows: Sequence[DatasetRow],
        scope: Mapping[str, DatasetRow],
        engine: Engine,
        writer: RunWriter,
    ) -> None:
        self._settings = settings
        self._rows = rows
        self._scope = scope
        self._engine = engine
        self._writer = writer
        self._summary = RunSummary(writer.folder.path)

    def add_predictions(self, predictions: Source) -> list[AnswerKey]:
        """Copy the predictions for the instances of the scope into the folder; note bad rows."""
        items = self._in_scope(predictions)
        keys = self._writer.take_predictions(items, self._settings.replace)
        if not keys:
            raise _no_predictions(predictions, self._summary.bad_rows)
        self._writer.update(predictions=source_name(predictions), complete=False)
        unanswered = len(self._scope.keys() - {key.instance_id for key in keys})
        if unanswered:
            instances = plural(len(self._scope), "instance")
            _log.warning("%d of %s: no answer, so %s", unanswered, instances, _UNANSWERED)
        return keys

    def _in_scope(self, predictions: Source) -> Iterator[Prediction]:
        rows = {row["instance_id"]: row for row in self._rows}
        is_empty = True
        for item in read_predictions(predictions, rows, self._settings.dataset):
            if isinstance(item, BadRow):
                self._summary.bad_rows.append(item)
            elif item.instance_id in self._scope:
                is_empty = False
                yield item
        if is_empty:
            self._check_empty(predictions)

    def _check_empty(self, predictions: Source) -> None:
        """Accept predictions without an answer to an instance of the scope only in a new folder.

        Such a folder stays: merged with others, its instances count as not passed.
        """
        bad_rows = self._summary.bad_rows
        is_new = not self._writer.folder.predictions.path.exists()
        if bad_rows or not is_new or not first_columns(predictions):
            raise _no_predictions(predictions, bad_rows)

    def plan(self, keys: Sequence[AnswerKey]) -> _Jobs:
        """Return the distinct answers to evaluate, each with all answers that share its verdict."""
        summary = self._summary
        pending = self._writer.pending(keys)
        jobs = self._writer.copy_results(pending)
        summary.rows = len(keys)
        summary.jobs = len(jobs)
        summary.kept = len(keys) - sum(map(len, pending.values()))
        if summary.kept:
            counts = f"{summary.kept} of {len(keys)}"
            _log.info("%s: %s predictions were evaluated before; resuming", summary.path, counts)
        return jobs

    def prepare(self, jobs: Iterable[AnswerKey]) -> None:
        """Make the environments of the jobs available."""
        tags = {self._scope[job.instance_id]["docker_image"] for job in jobs}
        images = self._engine.prepare(sorted(tags))
        facts = self._writer.facts
        self._writer.update(
            images={**facts["images"], **images},
            engine=self._engine.facts,
            isolation=self._engine.isolation,
        )
        scale = self._settings.timeout_scale
        self._engine.begin(Conditions(images, facts["fresh_seeds"], scale))

    def run(self, jobs: _Jobs, progress: Progress) -> None:
        """Run the jobs and write their results; stop if the engine fails repeatedly."""
        progress.start(len(jobs))
        failures = Failures()
        engine = self._engine
        done = follow_jobs(jobs, self._submit, slots=engine.slots, stop=engine.stop)
        with contextlib.closing(done):
            for job, future in done:
                verdict = future.result()
                progress.step(self._write(jobs[job], verdict))
                if failures.note(verdict.cause in (Cause.ENGINE, Cause.OVERLOAD)):
                    self._summary.stopped = verdict.detail
                    return

    def _submit(self, job: AnswerKey) -> Future[Verdict]:
        return self._engine.submit(self._scope[job.instance_id], self._writer.prediction(job))

    def _write(self, answers: Sequence[AnswerKey], verdict: Verdict) -> str:
        """Write the verdict on answers with the same content; return their outcome."""
        row = self._scope[answers[0].instance_id]
        self._writer.write_log(answers[0], verdict.log)
        for answer in answers:
            self._writer.add_verdict(answer, verdict, row)
        reached = outcome(verdict.status, verdict.core_status)
        if reached == Level.ROBUST and not configuration_of(row).has_contract:
            return str(Level.REPRODUCED)  # all cases are core cases: the two levels are one
        return reached

    def finish(self, keys: Sequence[AnswerKey]) -> RunSummary:
        """Write the end of the evaluation."""
        summary = self._summary
        summary.infra_errors = self._writer.infra_errors(keys)
        self._writer.update(
            complete=not summary.stopped and not summary.infra_errors,
            bad_rows=[str(row) for row in summary.bad_rows],
            finished_at=now(),
        )
        return summary


def select(
    rows: Sequence[DatasetRow], instances: Sequence[str], categories: Sequence[str]
) -> dict[str, DatasetRow]:
    """Return the chosen rows by instance id.

    Raises:
        ArgumentError: a name is unknown, or no row is left.
    """
    chosen = {row["instance_id"]: row for row in rows}
    check_instances(instances, chosen)
    available = sorted({row["category"] for row in rows})
    for category in categories:
        if category not in available:
            raise ArgumentError(
                "categories", f"{category!r} must be one of: {'; '.join(available)}"
            )
    if instances:
        chosen = {name: row for name, row in chosen.items() if name in instances}
    if categories:
        chosen = {name: row for name, row in chosen.items() if row["category"] in categories}
    if not chosen:
        raise ArgumentError("instances", "none of them is in the chosen categories")
    return chosen


def _no_predictions(predictions: Source, bad_rows: Sequence[BadRow]) -> InputError:
    """Return the error for a source without a prediction to evaluate."""
    columns = first_columns(predictions)
    if bad_rows:
        is_one_row = isinstance(predictions, str | Path) and len(bad_rows) == 1
        fix = _fix(bad_rows[0].reason, columns, is_one_row)
        reason = f"no row can be evaluated ({bad_rows[0]}); {fix}"
    elif columns:
        reason = "none for the chosen instances"
    else:
        reason = f"no rows; {NEEDED}"
    return InputError(f"predictions {source_name(predictions)!r}: {reason}")


def _fix(reason: str, columns: Sequence[str], is_one_row: bool) -> str:
    """Return what to do about the first bad row, perhaps the only row of a file."""
    if is_one_row and reason == "missing key 'instance_id'":
        return wrong_object(columns)
    _, is_missing, key = reason.partition("missing key ")
    return wrong_columns(columns, key.strip("'")) if is_missing else NEEDED
