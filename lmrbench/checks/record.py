"""Record references: run each in the sandbox and store the outputs of its cases beside the task.

A recording from the local sandbox, which proves nothing to others, is replaced by Docker's.
"""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from lmrbench_data.base.errors import InputError
from lmrbench_data.base.jobs import run_jobs
from lmrbench_data.tasks.recordings import Recording, read_recording, write_recording
from lmrbench_data.tasks.task import Instance, Task
from lmrbench_evaluate.sandbox.base import Sandbox

from .references import record, record_options


class Recorded(NamedTuple):
    """An instance with an up-to-date recording."""

    instance_id: str
    state: Literal["recorded", "up to date"]
    """Whether its reference ran now or earlier."""
    size: int
    """Size of its recorded outputs in bytes."""


def record_tasks(
    tasks: Sequence[Task], sandbox: Sandbox, *, workers: int = 2, force: bool = False
) -> Iterator[Recorded]:
    """Update the recordings of tasks; yield each instance when it is up to date.

    Args:
        force: also run references whose recording is up to date.

    Raises:
        InputError: a reference raised, timed out or returned something that cannot be recorded.
        InfraError: the machinery failed.
    """
    jobs: list[tuple[Task, Sequence[Instance]]] = []
    for task in tasks:
        jobs += [(task, [item]) for item in task.instances]
        if any(item.configuration.is_altered for item in task.instances):
            jobs.append((task, task.options))
    with contextlib.closing(
        run_jobs(jobs, lambda job: _update(*job, sandbox, force), workers)
    ) as done:
        for _, future in done:
            yield from future.result()


def _update(
    task: Task, instances: Sequence[Instance], sandbox: Sandbox, force: bool
) -> list[Recorded]:
    """Update the recordings of one instance, or of all options of a task."""
    recorded = []
    stale = []
    for item in instances:
        recording = None if force else _up_to_date(task, item, sandbox)
        if recording is None:
            stale.append(item)
        else:
            recorded.append(Recorded(item.instance_id, "up to date", len(recording.outputs)))
    are_options = len(instances) > 1
    recorded += _record_stale(task, stale, sandbox, are_options)
    return recorded


def _record_stale(
    task: Task, stale: Sequence[Instance], sandbox: Sandbox, are_options: bool
) -> Iterator[Recorded]:
    if stale and are_options:
        recordings = record_options(task, stale, sandbox)
    else:
        recordings = [record(task, item, sandbox) for item in stale]
    for item, recording in zip(stale, recordings, strict=True):
        write_recording(task, item, recording)
        yield Recorded(item.instance_id, "recorded", len(recording.outputs))


def _up_to_date(task: Task, instance: Instance, sandbox: Sandbox) -> Recording | None:
    try:
        recording = read_recording(task, instance)
    except InputError:  # missing, damaged or older than the task
        return None
    # These sandboxes run this machine's packages, not the image's.
    is_provisional = recording.sandbox in ("local", "bwrap")
    return None if is_provisional and recording.sandbox != sandbox.name else recording
