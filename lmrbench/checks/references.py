"""Run references in the sandbox and return the outputs of their cases as recordings."""

import dataclasses
import itertools
import json
import platform
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lmrbench_data.base.archive import gzip_bytes
from lmrbench_data.base.errors import InputError
from lmrbench_data.dataset.rows import DeclaredCase
from lmrbench_data.tasks.experiments import table_cases
from lmrbench_data.tasks.recordings import Recording
from lmrbench_data.tasks.task import Instance, Task
from lmrbench_evaluate.rebuild.workspace import libraries_in, workspace_tar
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
    seeds = instance.tests.seeds
    where = f"{task.folder / instance.tests.file}: {instance.instance_id}"
    frames = _run(task, instance, sandbox, task.cases(instance), where, seeds=seeds)
    recording = _recording(frames, seeds, where, task.image_tag, sandbox.name)
    if not instance.tables:
        return recording
    where = f"{task.folder / instance.experiments}: {instance.instance_id}"
    tables = _run(task, instance, sandbox, table_cases(instance.tables), where, seeds=[0])
    return dataclasses.replace(recording, tables=read_tables(tables, where))


def record_options(task: Task, options: Sequence[Instance], sandbox: Sandbox) -> list[Recording]:
    """Run the cases that test single choices on options of them, and return their recordings.

    Raises:
        InputError: no case tests a choice alone, or an option raised, timed out or returned
            something that cannot be recorded.
        InfraError: the machinery failed.
    """
    listing = _listing_of_choices(task, options[0], sandbox)
    return [_record_option(task, option, sandbox, listing) for option in options]


def _record_option(task: Task, option: Instance, sandbox: Sandbox, listing: Frame) -> Recording:
    seeds = option.tests.seeds
    where = f"{task.folder / option.tests.file}: {option.instance_id}"
    names = [case["name"] for case in json.loads(listing.payload)]
    runs = list(itertools.product(names, seeds))
    outputs = _run(task, option, sandbox, task.cases(option), where, runs=runs)
    return _recording([listing, *outputs], seeds, where, task.image_tag, sandbox.name)


def _listing_of_choices(task: Task, option: Instance, sandbox: Sandbox) -> Frame:
    """Return the list of the cases that test the functions of one choice alone."""
    where = f"{task.folder / option.tests.file}"
    listing = _run(task, option, sandbox, task.cases(option), where)[0]
    cases = []
    for case in json.loads(listing.payload):
        if any(choice.is_tested_by(case) for choice in task.choices):
            cases.append(case)
    if not cases:
        raise InputError(f"{where}: no case tests the functions of a choice alone; add one (@goal)")
    return dataclasses.replace(listing, payload=json.dumps(cases).encode())


def _run(
    task: Task,
    instance: Instance,
    sandbox: Sandbox,
    cases: bytes,
    where: str,
    *,
    seeds: Sequence[int] = (),
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
    limits = Limits(tests.timeout_s, tests.memory_mb)
    image = sandbox.prepare(task.image_tag)
    outcome = run_with_exclusive_retry(sandbox, image, workspace, limits, libraries_in(repo, cases))
    if outcome.ended is not Ended.EXITED:
        fix = "raise tests.timeout_s or tests.memory_mb"
        raise InputError(f"{where}: the reference ended with {outcome.ended}; {fix}")
    try:
        frames = list(read_frames(outcome.stdout))
    except StreamError as error:
        problem = f"the reference wrote into the runner's stream ({error})"
        raise InputError(f"{where}: {problem}") from error
    for frame in frames:
        if frame.kind in ("raised", "died"):
            raise InputError(f"{where}: {_failure(frame)}")
    return frames


def _failure(frame: Frame) -> str:
    """Describe how a case raised or ended its process."""
    place = f"case_{frame.case} seed {frame.seed}" if frame.case else "importing the cases"
    facts = read_json(frame.payload)
    reason = facts.get("reason")
    failure = f"ended its process: {reason}" if reason else f"ended its process ({facts})"
    if frame.kind == "raised":
        failure = f"raised {facts.get('type')}: {facts.get('message')}"
    return f"{place}: the reference {' '.join(failure.split())[:500]}"


def _recording(
    frames: Sequence[Frame], seeds: Sequence[int], where: str, tag: str, sandbox: str
) -> Recording:
    """Make a recording of the list of cases and their outputs."""
    cases = _cases(frames[:1], where)
    outputs = frames[1:]
    _check_outputs(outputs, cases, seeds, where)
    outputs = _without_repetitions(outputs, cases, len(seeds))
    packed = gzip_bytes(b"".join(map(write_frame, outputs)))
    return Recording([dict(case) for case in cases], packed, tag, sandbox, cpu_model())


def _cases(frames: Sequence[Frame], where: str) -> list[DeclaredCase]:
    """Return the declared cases; all are core if the task has no levels."""
    if not frames or frames[0].kind != "listing":
        raise InputError(f"{where}: the cases could not be listed")
    cases = [_declared(case, where) for case in json.loads(frames[0].payload)]
    if not cases:
        raise InputError(f"{where}: no case_<name>(seed) function; see CONTRIBUTING.md")
    if not any(case["core"] for case in cases):
        for case in cases:
            case["core"] = True
    return cases


def _check_outputs(
    outputs: Sequence[Frame], cases: Sequence[DeclaredCase], seeds: Sequence[int], where: str
) -> None:
    """Check that outputs, which will be published, are complete, readable and self-equal."""
    comparisons = {case["name"]: Comparison(case) for case in cases}
    runs = list(itertools.product(comparisons, seeds))
    if [(frame.case, frame.seed) for frame in outputs] != runs:
        raise InputError(f"{where}: the reference did not return once for each case and seed")
    for frame in outputs:
        try:
            _check_output(frame, comparisons[frame.case])
        except (StreamError, TooLargeError) as error:
            place = f"case_{frame.case} seed {frame.seed}"
            raise InputError(f"{where}: {place}: cannot be recorded: {error}") from error


def _check_output(frame: Frame, comparison: Comparison) -> None:
    value = other = decode(frame.payload)
    if comparison.unordered and isinstance(value, list | tuple):
        other = value[::-1]  # costs most
    difference = first_difference(value, other, comparison)
    if difference:
        raise StreamError(f"it is not equal to itself: {difference}")


def _without_repetitions(
    outputs: Sequence[Frame], cases: Sequence[DeclaredCase], seeds: int
) -> list[Frame]:
    """Mark the cases that vary with the seed; keep one output, for the first seed, of the others.

    More seeds would cost time and prove nothing. With a single seed every case counts as varying.
    """
    payloads: dict[str, set[bytes]] = {}
    for frame in outputs:
        payloads.setdefault(frame.case, set()).add(frame.payload)
    for case in cases:
        case["varies"] = seeds == 1 or len(payloads[case["name"]]) > 1
    varying = [case["name"] for case in cases if case["varies"]]
    first_seed = outputs[0].seed
    return [frame for frame in outputs if frame.case in varying or frame.seed == first_seed]


def cpu_model() -> str:
    """Return the name of this machine's processor."""
    try:
        facts = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        facts = ""
    named = re.search(r"^model name\s*:\s*(\S.*?)\s*$", facts, re.MULTILINE)
    return named[1] if named else platform.processor() or platform.machine()


def _checker(declared: Mapping[str, Any], where: str) -> str:
    checker = declared.get("checker") or ""
    if checker and checker not in CHECKERS:
        problem = f"unknown checker {checker!r}; known: {', '.join(CHECKERS)}"
        raise InputError(f"{where}: case_{declared['name']}: {problem}")
    return checker


def _flag(declared: Mapping[str, Any], name: str) -> bool:
    return bool(declared.get(name))


def _declared(declared: Mapping[str, Any], where: str) -> DeclaredCase:
    """Return a case with the defaults of its comparison, as the row publishes it."""
    exact = _flag(declared, "exact")
    rtol = float(declared.get("rtol", RTOL))
    atol = float(declared.get("atol", ATOL))
    case: DeclaredCase = {
        "name": declared["name"],
        "core": _flag(declared, "core"),
        "varies": True,
        "rtol": 0.0 if exact else rtol,
        "atol": 0.0 if exact else atol,
        "exact": exact,
        "unordered": _flag(declared, "unordered"),
        "sign_invariant": _flag(declared, "sign_invariant"),
        "checker": _checker(declared, where),
    }
    if "goals" in declared:
        case["goals"] = list(declared["goals"])
    return case
