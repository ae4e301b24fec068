"""Evaluate a prediction: rebuild, run in the sandbox, compare, decide. No other path leads to a verdict."""

import contextlib
import dataclasses
import threading
import time
from collections.abc import Mapping, Sequence
from typing import TypeVar

from lmrbench_data.base.errors import InfraError, OverloadError
from lmrbench_data.base.source import SourceError
from lmrbench_data.dataset.rows import DatasetRow, goals_of
from lmrbench_data.loader import File, read_archive

from ..predictions.prediction import Prediction
from ..rebuild.workspace import check_repository, libraries_of, rebuild, without_experiments, workspace_tar
from ..sandbox.base import Ended, Limits, Outcome, Sandbox
from ..sandbox.exclusive_retry import Run, run_with_exclusive_retry
from ..sandbox.shared import SharedSandbox
from .choices import implemented_options, searches_table
from .decode import Frame, StreamError, read_frames, write_frame
from .expected import read_expected, row_cases
from .verdict import CaseResult, Cause, Status, Verdict, grade, worst

INFRA_TRIES = 3
#: Number of answers that share a sandbox in checks of tasks.
BATCH_SIZE = 16
_Item = TypeVar("_Item")


def evaluate_prediction(
    row: DatasetRow,
    prediction: Prediction,
    sandbox: Sandbox,
    image: str,
    *,
    expected: Sequence[Frame] | None = None,
    timeout_scale: float = 1.0,
    stop: threading.Event | None = None,
) -> Verdict:
    """Return the verdict on one prediction; an engine failure is retried before it is an infra error.

    Args:
        image: the result of `sandbox.prepare(row["docker_image"])`.
        expected: recorded outputs to compare with (default: those of the row).
        timeout_scale: multiplies the row's limit of CPU time, for slow machines.
        stop: set to prevent further tries, because the whole run ends.

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
    verdict = _evaluate_files(row, repo, sandbox, image, frames, timeout_scale, stop)
    notes += [verdict.detail] if verdict.detail else []
    return dataclasses.replace(verdict, detail="; ".join(notes)) if verdict.cases else verdict


def evaluate_repository(row: DatasetRow, repo: Mapping[str, File], sandbox: Sandbox, image: str) -> Verdict:
    """Return the verdict on all files of a repository that was changed in place, as `evaluate_prediction`."""
    frames = read_expected(row)
    try:
        check_repository(row, repo)
    except SourceError as error:
        return Verdict.without_cases(Cause.NOT_APPLICABLE, str(error))
    return _evaluate_files(row, repo, sandbox, image, frames)


def _evaluate_files(
    row: DatasetRow,
    repo: Mapping[str, File],
    sandbox: Sandbox,
    image: str,
    frames: Sequence[Frame],
    timeout_scale: float = 1.0,
    stop: threading.Event | None = None,
) -> Verdict:
    """Run the cases on a rebuilt repository and grade their outputs."""
    started, tests = time.monotonic(), row["tests"]
    published = sum(len(tests["seeds"]) if case["varies"] else 1 for case in tests["cases"])
    limits = Limits(tests["timeout_s"] * timeout_scale * max(1.0, len(frames) / published), tests["memory_mb"])
    runs = [(frame.case, frame.seed) for frame in frames]
    workspace = workspace_tar(without_experiments(row, repo), row_cases(row), runs=runs, limit_s=limits.time_s)
    run: Run = sandbox.run
    if isinstance(sandbox, SharedSandbox):
        run = sandbox.serving(row["instance_id"], lambda: libraries_of(row))
    reason = ""
    stop = stop or threading.Event()
    for attempt in range(INFRA_TRIES):
        if attempt and stop.wait(0.5 * 4 ** (attempt - 1)):
            break
        try:
            outcome = run_with_exclusive_retry(run, image, workspace, limits)
        except OverloadError as error:
            return Verdict.without_cases(Cause.OVERLOAD, str(error), duration_s=time.monotonic() - started)
        except InfraError as error:
            reason = str(error)
            continue
        verdict = _verdict(grade(frames, tests["cases"], outcome), outcome.log, outcome)
        verdict = dataclasses.replace(verdict, choices=implemented_options(row, outcome.stdout, runs))
        return verdict.searching() if searches_table(row, repo) else verdict
    return Verdict.without_cases(Cause.ENGINE, reason, duration_s=time.monotonic() - started)


def _verdict(cases: Sequence[CaseResult], log: str, outcome: Outcome) -> Verdict:
    return Verdict(worst(case.status for case in cases), cases, log, outcome.duration_s, cpu_s=outcome.cpu_s)


def evaluate_batch(
    row: DatasetRow, predictions: Sequence[Prediction], sandbox: Sandbox, image: str, *, seeds: Sequence[int]
) -> list[Verdict]:
    """Return verdicts on several answers run in one sandbox, to save its start-up: for checks of tasks, never for runs.

    Each answer stops at the first case without an output, and has the row's CPU time to itself.

    Args:
        seeds: the subset of the row's seeds to run.

    Raises:
        InfraError: the machinery failed.
    """
    frames = [frame for frame in read_expected(row) if frame.seed in seeds]
    tests = row["tests"]
    verdicts: dict[int, Verdict] = {}
    answers: dict[int, dict[str, File]] = {}
    for number, prediction in enumerate(predictions):
        try:
            rebuilt = rebuild(row, prediction)
            answers[number] = {path: rebuilt[path] for path in goals_of(row)}
        except SourceError as error:
            verdicts[number] = Verdict.without_cases(Cause.NOT_APPLICABLE, str(error))
    if answers:
        outcome, streams = run_batch(
            read_archive(row["repo_archive"]),
            row_cases(row),
            list(answers.values()),
            [(frame.case, frame.seed) for frame in frames],
            Limits(tests["timeout_s"], tests["memory_mb"]),
            sandbox,
            image,
        )
        for number, stream in zip(answers, streams, strict=True):
            part = dataclasses.replace(outcome, stdout=stream)
            verdict = _verdict(grade(frames, tests["cases"], part), "", outcome)
            if outcome.ended is Ended.TIME_LIMIT and verdict.status is Status.TIMEOUT and len(answers) > 1:
                # The runner ends an answer that uses up its CPU time, not one that sleeps while the clock runs.
                verdict = evaluate_prediction(row, predictions[number], sandbox, image, expected=frames)
            verdicts[number] = verdict
    return [verdicts[number] for number in range(len(predictions))]


def in_batches(items: Sequence[_Item]) -> list[Sequence[_Item]]:
    """Split items into groups that share a sandbox."""
    return [items[start : start + BATCH_SIZE] for start in range(0, len(items), BATCH_SIZE)]


def run_batch(
    repo: Mapping[str, File],
    cases: bytes,
    answers: Sequence[Mapping[str, File]],
    runs: Sequence[tuple[str, int]],
    limits: Limits,
    sandbox: Sandbox,
    image: str,
    *,
    threads: int = 1,
) -> tuple[Outcome, list[bytes]]:
    """Run the cases on each answer; return how the run ended and the stream of each answer, as if it had run alone.

    An answer stops at its first case without an output. Arguments are those of `workspace_tar`, and the limits of one
    answer. InfraError says that the machinery failed.
    """
    limits = dataclasses.replace(limits, time_s=limits.time_s * len(answers))
    workspace = workspace_tar(repo, cases, runs=runs, limit_s=limits.time_s, answers=answers, threads=threads)
    outcome = run_with_exclusive_retry(sandbox.run, image, workspace, limits)
    streams = [b""] * len(answers)
    with contextlib.suppress(StreamError):  # a missing frame is an error of its answer
        for frame in read_frames(outcome.stdout):
            place, _, case = frame.case.partition("/")
            if place.isdecimal() and int(place) < len(answers):
                streams[int(place)] += write_frame(dataclasses.replace(frame, case=case))
    return outcome, streams
