"""Record references: run each in the sandbox and store the outputs of its cases beside the task.

A recording whose outputs still agree within the tolerances stays, so rounding differences between CPUs do not rewrite
files. A recording from the local sandbox, which proves nothing to others, is replaced by Docker's.
"""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from lmrbench_data.base.errors import InputError
from lmrbench_data.base.jobs import run_jobs
from lmrbench_data.tasks.experiments import ROUNDING
from lmrbench_data.tasks.recordings import Recording, last_recording, read_recording, write_recording
from lmrbench_data.tasks.task import Instance, Task

from ..sandbox.base import Sandbox
from ..verdict.compare import TooLargeError, first_difference
from ..verdict.decode import StreamError, decode
from ..verdict.expected import unpack_frames
from ..verdict.tolerance import Comparison
from .references import record, record_options
from .tables import largest_gap


class State(StrEnum):
    """The fate of an instance's recording."""

    UP_TO_DATE = "up to date"
    AGREES = "agrees"
    """The task changed and its outputs did not; the recorded ones stay."""
    RECORDED = "recorded"


@dataclass(frozen=True)
class Recorded:
    """An instance with an up-to-date recording."""

    instance_id: str
    state: State
    size: int
    """Size of its recorded outputs in bytes."""


def record_tasks(
    tasks: Sequence[Task], sandbox: Sandbox, *, workers: int = 2, force: bool = False
) -> Iterator[Recorded]:
    """Update the recordings of tasks; yield each instance when it is up to date.

    Args:
        force: also run references whose recording is up to date, and replace outputs that agree.

    Raises:
        InputError: a reference raised, timed out or returned something that cannot be recorded.
        InfraError: the machinery failed.
    """

    def work(job: tuple[Task, Sequence[Instance]]) -> list[Recorded]:
        task, instances = job
        found = {item.instance_id: None if force else _up_to_date(task, item, sandbox) for item in instances}
        stale = [item for item in instances if found[item.instance_id] is None]
        done = [Recorded(name, State.UP_TO_DATE, len(old.outputs)) for name, old in found.items() if old is not None]
        if stale:
            of_options = stale[0] in task.options
            new = record_options(task, stale, sandbox) if of_options else [record(task, stale[0], sandbox)]
            done += [_keep(task, item, recording, force) for item, recording in zip(stale, new, strict=True)]
        return done

    jobs: list[tuple[Task, Sequence[Instance]]] = [(task, [item]) for task in tasks for item in task.instances]
    altered = [task for task in tasks if any(item.configuration.is_altered for item in task.instances)]
    jobs += [(task, task.options) for task in altered if task.options]
    with contextlib.closing(run_jobs(jobs, work, workers)) as done:
        for _, future in done:
            yield from future.result()


def _keep(task: Task, instance: Instance, new: Recording, force: bool) -> Recorded:
    """Write a new recording, or the old one as up to date if its outputs agree."""
    old = last_recording(task, instance)
    agrees = old is not None and not force and _agree(old, new)
    kept = old if old is not None and agrees else new
    write_recording(task, instance, kept)
    return Recorded(instance.instance_id, State.AGREES if agrees else State.RECORDED, len(kept.outputs))


def _up_to_date(task: Task, instance: Instance, sandbox: Sandbox) -> Recording | None:
    try:
        recording = read_recording(task, instance)
    except InputError:  # missing, damaged or older than the task
        return None
    is_provisional = recording.sandbox in ("local", "bwrap")  # this machine's packages, not the image's
    return None if is_provisional and recording.sandbox != sandbox.name else recording


def _agree(old: Recording, new: Recording) -> bool:
    """Return whether two recordings have the same cases and seeds, and outputs that are equal within the tolerances."""
    if list(old.cases) != list(new.cases) or old.sandbox != new.sandbox:
        return False
    if largest_gap(old.tables, new.tables) > ROUNDING:
        return False
    how = {case["name"]: Comparison(case) for case in new.cases}
    try:
        before, after = unpack_frames(old.outputs), unpack_frames(new.outputs)
        return [(a.case, a.seed) for a in before] == [(b.case, b.seed) for b in after] and not any(
            first_difference(decode(a.payload), decode(b.payload), how[a.case])
            for a, b in zip(before, after, strict=True)
        )
    except (StreamError, TooLargeError):
        return False
