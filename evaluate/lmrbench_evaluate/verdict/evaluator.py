"""Evaluate a prediction: rebuild, run, compare, decide. No other path leads to a verdict."""

import dataclasses
import functools
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lmrbench_data.base.configurations import RESULT_COLUMNS, configuration_of
from lmrbench_data.base.errors import InfraError, OverloadError
from lmrbench_data.base.source import SourceError
from lmrbench_data.dataset.rows import DatasetRow
from lmrbench_data.loader import File

from ..predictions.prediction import Prediction
from ..rebuild.workspace import (
    check_repository,
    libraries_of,
    rebuild,
    without_experiments,
    workspace_tar,
)
from ..sandbox.base import Limits, Outcome, Sandbox
from ..sandbox.exclusive_retry import run_with_exclusive_retry
from .choices import implemented_options, searches_table
from .decode import Frame
from .expected import read_expected, row_cases
from .verdict import Cause, Verdict, grade, worst

INFRA_TRIES = 3


def evaluate_prediction(
    row: DatasetRow,
    prediction: Prediction,
    sandbox: Sandbox,
    image: str,
    *,
    expected: Sequence[Frame] | None = None,
    timeout_scale: float = 1.0,
    stop: threading.Event | None = None,
    together: bool = False,
) -> Verdict:
    """Return the verdict on one prediction; a failure of the engine is retried.

    Args:
        image: the result of `sandbox.prepare(row["docker_image"])`.
        expected: recorded outputs to compare with (default: those of the row).
        timeout_scale: multiplies the row's limit of CPU time, for slow machines.
        stop: set to prevent further tries, because the whole run ends.
        together: run all cases in one process, which is faster and never official.

    Raises:
        StreamError, LoadError: the row itself cannot be read.
    """
    started = time.monotonic()
    frames = list(expected) if expected is not None else read_expected(row)
    notes: list[str] = []
    try:
        repo = rebuild(row, prediction, notes)
    except SourceError as error:
        return Verdict.without_cases(Cause.NOT_APPLICABLE, str(error))
    except OSError as error:  # patches are applied on this machine's disk
        took = time.monotonic() - started
        return Verdict.without_cases(Cause.ENGINE, f"cannot rebuild: {error}", duration_s=took)
    modules = libraries_of(row)
    verdict = _evaluate_files(
        row, repo, sandbox, image, modules, frames, timeout_scale, stop, together
    )
    if not verdict.cases:
        return verdict
    detail = "; ".join(filter(None, [*notes, verdict.detail]))
    return dataclasses.replace(verdict, detail=detail)


def evaluate_repository(
    row: DatasetRow,
    repo: Mapping[str, File],
    sandbox: Sandbox,
    image: str,
    modules: Sequence[str],
) -> Verdict:
    """Return the verdict on all files of a repository that was changed in place.

    Args:
        modules: `libraries_of` the row, which itself may lack the reference here.
    """
    frames = read_expected(row)
    try:
        check_repository(row, repo)
    except SourceError as error:
        return Verdict.without_cases(Cause.NOT_APPLICABLE, str(error))
    return _evaluate_files(row, repo, sandbox, image, modules, frames)


def _evaluate_files(
    row: DatasetRow,
    repo: Mapping[str, File],
    sandbox: Sandbox,
    image: str,
    modules: Sequence[str],
    frames: Sequence[Frame],
    timeout_scale: float = 1.0,
    stop: threading.Event | None = None,
    together: bool = False,
) -> Verdict:
    """Run the cases on a rebuilt repository and grade their outputs."""
    started = time.monotonic()
    runs = [(frame.case, frame.seed) for frame in frames]
    limits = _limits(row, len(runs), timeout_scale)
    workspace = workspace_tar(
        without_experiments(repo, configuration_of(row).has_experiments),
        row_cases(row),
        runs=runs,
        limit_s=limits.time_s,
        together=together,
    )
    run = functools.partial(run_with_exclusive_retry, sandbox, image, workspace, limits, modules)
    try:
        outcome = _retry(run, stop or threading.Event())
    except InfraError as error:
        cause = Cause.OVERLOAD if isinstance(error, OverloadError) else Cause.ENGINE
        return Verdict.without_cases(cause, str(error), duration_s=time.monotonic() - started)
    cases = grade(frames, row["tests"]["cases"], outcome)
    verdict = Verdict(
        worst(case.status for case in cases),
        cases,
        outcome.log,
        outcome.duration_s,
        cpu_s=outcome.cpu_s,
        choices=implemented_options(row, outcome.stdout, runs),
    )
    return verdict.searching() if searches_table(row, repo) else verdict


def _limits(row: DatasetRow, runs: int, timeout_scale: float) -> Limits:
    """Return the limits of a row, for as many runs as its recording has or more."""
    tests = row["tests"]
    recorded = sum(len(tests["seeds"]) if case["varies"] else 1 for case in tests["cases"])
    time_s = tests["timeout_s"] * timeout_scale * max(1.0, runs / recorded)
    return Limits(time_s, tests["memory_mb"])


def _retry(run: Callable[[], Outcome], stop: threading.Event) -> Outcome:
    """Run until the engine does not fail; InfraError after the last try, or when `stop` is set."""
    for attempt in range(INFRA_TRIES - 1):
        try:
            return run()
        except OverloadError:
            raise
        except InfraError:
            if stop.wait(0.5 * 4**attempt):
                raise
    return run()


def result_columns(verdict: Verdict, row: DatasetRow) -> dict[str, Any]:
    """Return the columns of a result row that a verdict gives, in the row's configuration."""
    seeds = row["tests"]["seeds"]
    cases = row["tests"]["cases"]
    columns = {
        "status": str(verdict.status),
        "core_status": str(verdict.core_status),
        "detail": verdict.detail,
        "memorised": verdict.memorised(seeds),
        "core_memorised": verdict.memorised(seeds, core=True),
        "cases": [case.as_row() for case in verdict.cases],
        "functions": verdict.functions(cases),
        "experiments": verdict.experiments(cases),
        "choices": list(verdict.choices) or implemented_options(row, b"", ()),
        "searches_table": verdict.searches_table,
        "duration_s": round(verdict.duration_s, 3),
        "cpu_s": None if verdict.cpu_s is None else round(verdict.cpu_s, 3),
    }
    absent = RESULT_COLUMNS - configuration_of(row).result_columns
    return {name: value for name, value in columns.items() if name not in absent}
