"""Run several answers to one repository in one sandbox, to save its start-up: for checks of tasks, never for runs."""

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from lmrbench_data.loader import File

from ..rebuild.workspace import workspace_tar
from ..sandbox.base import Limits, Outcome, Sandbox
from ..sandbox.turns import run_fairly
from .decode import StreamError, read_frames, write_frame

#: Number of answers that share a sandbox.
SIZE = 16


Item = TypeVar("Item")


def in_batches(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    """Split items into groups that share a sandbox."""
    for start in range(0, len(items), SIZE):
        yield items[start : start + SIZE]


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

    An answer stops at its first case without an output.

    Args:
        answers: the files of each answer; all have the same paths.
        runs: (case, seed) in running order.
        limits: of one answer.
        threads: see `workspace_tar`.

    Raises:
        InfraError: the machinery failed.
    """
    limits = dataclasses.replace(limits, time_s=limits.time_s * len(answers))
    workspace = workspace_tar(repo, cases, runs=runs, limit_s=limits.time_s, answers=answers, threads=threads)
    outcome = run_fairly(sandbox, image, workspace, limits)
    streams = [b""] * len(answers)
    with contextlib.suppress(StreamError):  # a missing frame is an error of its answer
        for frame in read_frames(outcome.stdout):
            place, _, case = frame.case.partition("/")
            if place.isdecimal() and int(place) < len(answers):
                streams[int(place)] += write_frame(dataclasses.replace(frame, case=case))
    return outcome, streams
