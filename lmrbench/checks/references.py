"""Run references in the sandbox and return the outputs of their cases as recordings."""

import dataclasses
import json
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lmrbench_data.base.archive import gzip_bytes
from lmrbench_data.base.errors import InputError
from lmrbench_data.dataset.rows import DeclaredCase
from lmrbench_data.tasks.experiments import table_cases
from lmrbench_data.tasks.recordings import Recording
from lmrbench_data.tasks.task import Instance, Task
from lmrbench_evaluate.rebuild.workspace import imported_by, workspace_tar
from lmrbench_evaluate.sandbox.base import Ended, Limits, Sandbox
from lmrbench_evaluate.sandbox.exclusive_retry import run_with_exclusive_retry
from lmrbench_evaluate.verdict.compare import CHECKERS, TooLargeError, first_difference
from lmrbench_evaluate.verdict.decode import (
    Frame,
    StreamError,
    decode,
    read_frames,
    read_json,
    write_frame,
)
from lmrbench_evaluate.verdict.tolerance import ATOL, RTOL, Comparison

from .tables import read_tables


def record(task: Task, instance: Instance, sandbox: Sandbox) -> Recording:
    """Run the reference of one instance and return its recording.

    Raises:
        InputError: it raised, timed out or returned something that cannot be recorded.
        InfraError: the machinery failed.
    """
    where, seeds = (
        f"{task.folder / instance.tests.file}: {instance.instance_id}",
        instance.tests.seeds,
    )
    frames = _run(task, instance, sandbox, task.cases(instance), seeds, where)
    recording = _recording(frames, seeds, where, task.image_tag, sandbox.name)
    if not instance.tables:
        return recording
    where = f"{task.folder / instance.experiments}: {instance.instance_id}"
    tables = _run(task, instance, sandbox, table_cases(instance.tables), [0], where)
    return dataclasses.replace(recording, tables=read_tables(tables, where))


def record_options(task: Task, options: Sequence[Instance], sandbox: Sandbox) -> list[Recording]:
    """Run the cases that test single choices on options of them, and return their recordings.

    Raises:
        InputError: no case tests a choice alone, or an option raised, timed out or returned something that cannot be
            recorded.
        InfraError: the machinery failed.
    """
    where, tests = f"{task.folder / options[0].tests.file}", options[0].tests
    [listing, *_] = _run(task, options[0], sandbox, task.cases(options[0]), (), where)
    cases = [
        case
        for case in json.loads(listing.payload)
        if any(item.is_tested_by(case) for item in task.choices)
    ]
    if not cases:
        raise InputError(f"{where}: no case tests the functions of a choice alone; add one (@goal)")
    listing = dataclasses.replace(listing, payload=json.dumps(cases).encode())
    recordings = []
    for option in options:
        named = f"{where}: {option.instance_id}"
        runs = [(case["name"], seed) for case in cases for seed in tests.seeds]
        frames = _run(task, option, sandbox, task.cases(option), (), named, runs=runs)
        recordings.append(
            _recording([listing, *frames], tests.seeds, named, task.image_tag, sandbox.name)
        )
    return recordings


def _run(
    task: Task,
    instance: Instance,
    sandbox: Sandbox,
    cases: bytes,
    seeds: Sequence[int],
    where: str,
    *,
    runs: Sequence[tuple[str, int]] | None = None,
) -> list[Frame]:
    """Run cases on a reference and return its frames.

    Args:
        seeds: the seeds for all cases, whose list is then the first frame.
        runs: what to run in place of all cases and seeds.

    Raises:
        InputError: it raised, timed out, or wrote into the runner's stream.
        InfraError: the machinery failed.
    """
    tests = instance.tests
    repo = task.golden_repo(instance)
    workspace = workspace_tar(repo, cases, runs=runs, seeds=seeds, limit_s=tests.timeout_s)
    limits, image = Limits(tests.timeout_s, tests.memory_mb), sandbox.prepare(task.image_tag)
    outcome = run_with_exclusive_retry(sandbox, image, workspace, limits, imported_by(repo, cases))
    if outcome.ended is not Ended.EXITED:
        raise InputError(
            f"{where}: the reference ended with {outcome.ended}; raise tests.timeout_s or tests.memory_mb"
        )
    try:
        frames = list(read_frames(outcome.stdout))
    except StreamError as error:
        raise InputError(
            f"{where}: the reference wrote into the runner's stream ({error})"
        ) from error
    return _checked(frames, where)


def _checked(frames: list[Frame], where: str) -> list[Frame]:
    """Return frames unless a case raised or ended its process.

    Raises:
        InputError: naming the case.
    """
    for frame in frames:
        if frame.kind in ("raised", "died"):
            place = f"case_{frame.case} seed {frame.seed}" if frame.case else "importing the cases"
            facts = read_json(frame.payload)
            raised = f"raised {facts.get('type')}: {facts.get('message')}"
            failure = raised if frame.kind == "raised" else f"ended its process ({facts})"
            raise InputError(f"{where}: {place}: the reference {' '.join(failure.split())[:500]}")
    return frames


def _recording(
    frames: Sequence[Frame], seeds: Sequence[int], where: str, tag: str, sandbox: str
) -> Recording:
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
    for frame in outputs:  # a published output must be readable and equal to itself
        try:
            value, comparison = decode(frame.payload), how[frame.case]
            # In reverse if order does not matter, which costs most.
            other = (
                value[::-1] if comparison.unordered and isinstance(value, list | tuple) else value
            )
            if found := first_difference(value, other, comparison):
                raise StreamError(f"it is not equal to itself: {found}")
        except (StreamError, TooLargeError) as error:
            raise InputError(
                f"{where}: case_{frame.case} seed {frame.seed}: cannot be recorded: {error}"
            ) from error
    outputs = _without_repetitions(outputs, cases, len(seeds))
    packed = gzip_bytes(b"".join(map(write_frame, outputs)))
    return Recording([dict(case) for case in cases], packed, tag, sandbox, cpu_model())


def _without_repetitions(
    outputs: Sequence[Frame], cases: Sequence[DeclaredCase], seeds: int
) -> list[Frame]:
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


def cpu_model() -> str:
    """Return the name of this machine's processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    named = next(
        (line.partition(":")[2].strip() for line in lines if line.startswith("model name")), ""
    )
    return named or platform.processor() or platform.machine()


def _declared(declared: Mapping[str, Any], where: str) -> DeclaredCase:
    """Return a case with the defaults of its comparison, as the row publishes it."""
    checker = declared.get("checker")
    if checker is not None and checker not in CHECKERS:
        raise InputError(
            f"{where}: case_{declared['name']}: unknown checker {checker!r}; known: {', '.join(CHECKERS)}"
        )
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
