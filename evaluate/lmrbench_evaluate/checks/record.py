"""Record references: run each in the sandbox and store the outputs of its cases beside the task.

A recording whose outputs still agree within the tolerances stays, so another CPU's last bits do not rewrite files.
A recording from the local sandbox, which proves nothing to others, is replaced by Docker's.
"""

import concurrent.futures
import dataclasses
import json
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from lmrbench_data.base.archive import gzip_bytes
from lmrbench_data.base.errors import InputError
from lmrbench_data.dataset.rows import DeclaredCase
from lmrbench_data.tasks.choices import Choice
from lmrbench_data.tasks.experiments import FILE as EXPERIMENTS
from lmrbench_data.tasks.experiments import MARGIN, table_cases
from lmrbench_data.tasks.recordings import Recording, last_recording, read_recording, write_recording
from lmrbench_data.tasks.task import Altered, Instance, Task, Underspecified

from ..rebuild.workspace import workspace_tar
from ..sandbox.base import Ended, Limits, Sandbox
from ..sandbox.turns import run_fairly
from ..verdict.compare import ATOL, CHECKERS, RTOL, Comparison, TooLargeError, first_difference
from ..verdict.decode import Frame, StreamError, decode, read_frames, read_json, write_frame
from ..verdict.expected import unpack_frames
from .tables import largest_gap, read_tables


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

    def work(task: Task, instance: Instance) -> Recorded:
        recording = None if force else _up_to_date(task, instance, sandbox)
        state = State.UP_TO_DATE
        if recording is None:
            state, recording = _refresh(task, instance, sandbox, force)
        return Recorded(instance.instance_id, state, len(recording.outputs))

    pool = concurrent.futures.ThreadPoolExecutor(workers)
    try:
        jobs = [pool.submit(work, task, item) for task in tasks for item in recorded_instances(task)]
        for job in concurrent.futures.as_completed(jobs):
            yield job.result()
    finally:  # after an error the caller closes the sandbox, which stops running references
        pool.shutdown(wait=False, cancel_futures=True)


def recorded_instances(task: Task) -> tuple[Instance, ...]:
    """Return the selected instances; for counterfactuals also each option of the paper's choices."""
    altered = any(isinstance(item, Altered) for item in task.instances)
    return (*task.instances, *(task.options if altered else ()))


def _refresh(task: Task, instance: Instance, sandbox: Sandbox, force: bool) -> tuple[State, Recording]:
    new = record(task, instance, sandbox)
    if instance.instance_id in {option.instance_id for option in task.options}:
        new = _of_choices(new, task.choices)
    old = last_recording(task, instance)
    agrees = old is not None and not force and _agree(old, new)
    kept = old if old is not None and agrees else new
    write_recording(task, instance, kept)
    return State.AGREES if agrees else State.RECORDED, kept


def _of_choices(recording: Recording, choices: Sequence[Choice]) -> Recording:
    """Return the part of a recording that tests single choices."""
    cases = [case for case in recording.cases if any(choice.is_tested_by(case) for choice in choices)]
    names = {case["name"] for case in cases}
    frames = [frame for frame in unpack_frames(recording.outputs) if frame.case in names]
    return dataclasses.replace(recording, cases=cases, outputs=gzip_bytes(b"".join(map(write_frame, frames))))


def _up_to_date(task: Task, instance: Instance, sandbox: Sandbox) -> Recording | None:
    try:
        recording = read_recording(task, instance)
    except InputError:  # missing, damaged or older than the task
        return None
    return None if recording.sandbox == "local" != sandbox.name else recording


def record(task: Task, instance: Instance, sandbox: Sandbox) -> Recording:
    """Run the reference of one instance and return its recording.

    Raises:
        InputError: it raised, timed out or returned something that cannot be recorded.
        InfraError: the machinery failed.
    """
    where, seeds = f"{task.folder / instance.tests.file}: {instance.instance_id}", instance.tests.seeds
    frames = _run(task, instance, sandbox, task.cases(instance), seeds, where)
    recording = _recording(frames, seeds, where, task.image_tag, sandbox.name)
    if not isinstance(instance, Underspecified):
        return recording
    where = f"{task.folder / EXPERIMENTS}: {instance.instance_id}"
    tables = _run(task, instance, sandbox, table_cases(instance.tables), [0], where)
    return dataclasses.replace(recording, tables=read_tables(tables, where))


def _run(
    task: Task, instance: Instance, sandbox: Sandbox, cases: bytes, seeds: Sequence[int], where: str
) -> list[Frame]:
    """Run cases on a reference and return its frames.

    Raises:
        InputError: it raised, timed out, or wrote into the runner's stream.
        InfraError: the machinery failed.
    """
    tests = instance.tests
    workspace = workspace_tar(task.golden_repo(instance), cases, runs=None, seeds=seeds, limit_s=tests.timeout_s)
    limits = Limits(tests.timeout_s, tests.memory_mb)
    outcome = run_fairly(sandbox, sandbox.prepare(task.image_tag), workspace, limits)
    if outcome.ended is not Ended.EXITED:
        raise InputError(f"{where}: the reference ended with {outcome.ended}; raise tests.timeout_s or tests.memory_mb")
    try:
        frames = list(read_frames(outcome.stdout))
    except StreamError as error:
        raise InputError(f"{where}: the reference wrote into the runner's stream ({error})") from error
    for frame in frames:
        if frame.kind in ("raised", "died"):
            raise InputError(f"{where}: {_failure(frame)}")
    return frames


def _failure(frame: Frame) -> str:
    place = f"case_{frame.case} seed {frame.seed}" if frame.case else "importing the cases"
    facts = read_json(frame.payload)
    raised = f"raised {facts.get('type')}: {facts.get('message')}"
    failure = raised if frame.kind == "raised" else f"ended its process ({facts})"
    return f"{place}: the reference {' '.join(failure.split())[:500]}"


def _recording(frames: Sequence[Frame], seeds: Sequence[int], where: str, tag: str, sandbox: str) -> Recording:
    if not frames or frames[0].kind != "listing":
        raise InputError(f"{where}: the cases could not be listed")
    cases = [_declared(case, where) for case in json.loads(frames[0].payload)]
    if not cases:
        raise InputError(f"{where}: no case_<name>(seed) function; see CONTRIBUTING.md")
    if not any(case["core"] for case in cases):  # the task has no levels
        for case in cases:
            case["core"] = True
    outputs = frames[1:]
    expected = [(case["name"], seed) for case in cases for seed in seeds]
    if [(frame.case, frame.seed) for frame in outputs if frame.kind == "output"] != expected:
        raise InputError(f"{where}: the reference did not return once for each case and seed")
    how = {case["name"]: Comparison(case) for case in cases}
    for frame in outputs:
        try:
            _check_comparable(
                decode(frame.payload), how[frame.case]
            )  # a published output must be readable and comparable
        except (StreamError, TooLargeError) as error:
            raise InputError(f"{where}: case_{frame.case} seed {frame.seed}: cannot be recorded: {error}") from error
    outputs = _without_repetitions(outputs, cases, len(seeds))
    packed = gzip_bytes(b"".join(map(write_frame, outputs)))
    return Recording([dict(case) for case in cases], packed, tag, sandbox, cpu_model())


def _without_repetitions(outputs: Sequence[Frame], cases: Sequence[DeclaredCase], seeds: int) -> list[Frame]:
    """Mark the cases that vary with the seed; keep one output, for the first seed, of those that do not.

    More seeds would cost time and prove nothing. With a single seed every case counts as varying.
    """
    payloads: dict[str, set[bytes]] = {}
    for frame in outputs:
        payloads.setdefault(frame.case, set()).add(frame.payload)
    for case in cases:
        case["varies"] = len(payloads[case["name"]]) > 1 or seeds == 1
    varying = {case["name"] for case in cases if case["varies"]}
    first_seed = outputs[0].seed
    return [frame for frame in outputs if frame.case in varying or frame.seed == first_seed]


def _check_comparable(value: Any, comparison: Comparison) -> None:
    """Compare an output with itself, in reverse if order does not matter, which costs most.

    Raises:
        StreamError: it is not equal to itself.
        TooLargeError: the comparison is too expensive.
    """
    other = value[::-1] if comparison.unordered and isinstance(value, list | tuple) else value
    if found := first_difference(value, other, comparison):
        raise StreamError(f"it is not equal to itself: {found}")


def _agree(old: Recording, new: Recording) -> bool:
    """Whether two recordings have the same cases and seeds, and outputs that are equal within the tolerances."""
    if list(old.cases) != list(new.cases) or old.sandbox != new.sandbox:
        return False
    if largest_gap(old.tables, new.tables) > MARGIN:
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


def cpu_model() -> str:
    """Return the name of this machine's processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    named = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    return named or platform.processor() or platform.machine()


def _declared(declared: Mapping[str, Any], where: str) -> DeclaredCase:
    """Return a case with the defaults of its comparison, as the row publishes it."""
    checker = declared.get("checker")
    if checker is not None and checker not in CHECKERS:
        raise InputError(f"{where}: case_{declared['name']}: unknown checker {checker!r}; known: {', '.join(CHECKERS)}")
    exact = bool(declared.get("exact"))
    case: DeclaredCase = {
        "name": declared["name"],
        "core": bool(declared.get("core")),
        "varies": True,
        "rtol": 0.0 if exact else float(declared.get("rtol", RTOL)),
        "atol": 0.0 if exact else float(declared.get("atol", ATOL)),
        "exact": exact,
        "unordered": bool(declared.get("unordered")),
        "sign_invariant": bool(declared.get("sign_invariant")),
        "checker": checker or "",
    }
    if "goals" in declared:
        case["goals"] = list(declared["goals"])
    return case
