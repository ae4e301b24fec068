"""Verdicts from the log of a test script (`test_protocol: script`), by the rule of the original LMR-Bench release.

A log counts by its words: one that says `Failed`, or says neither `Passed` nor `Failed`, has failed. Tested code can
write such a log, so a run of scripts is never official (`runs/standing.py`). What can be kept apart is kept apart: the
golden file never goes into the sandbox, tests are put in place after the answer, and a script that the golden file does
not pass here grades nobody.
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from ..archive import tar_bytes
from ..errors import ArgumentError, InputError
from ..loader import File, read_archive
from ..rows import DatasetRow
from ..text import counted, visible
from .decode import StreamError, read_frames
from .runner import script_runner
from .sandbox.base import Ended, Limits, Outcome
from .verdict import CAUSES, MAX_DETAIL, CaseResult, Cause

#: The `test_protocol` of an instance that is tested so.
SCRIPT = "script"
#: In `tests_archive`: the path of the script from the repository's root, and the folder of it and its data.
SCRIPT_NAME, TESTS = "script", "tests"
#: The only case of such an instance.
CASE = "script"
#: What a repository with data may take on the sandbox's disk.
_DISK_MB = 1024
#: A log's last lines, as far as a detail shows them.
_LAST_LINES = 5
_MAX_FACTS = 8 * 1024 * 1024


def script_limits(row: DatasetRow, timeout_scale: float) -> Limits:
    """What a script may use."""
    return Limits(row["tests"]["timeout_s"] * timeout_scale, row["tests"]["memory_mb"], disk_mb=_DISK_MB)


def script_workspace(row: DatasetRow, repo: Mapping[str, File], limits: Limits) -> bytes:
    """The tar that the sandbox gets: the rebuilt repository, the tests over it, the runner."""
    tests = read_archive(row["tests_archive"])
    script = tests[SCRIPT_NAME].data.decode("utf-8").strip()
    plan = {"script": script, "limit_s": limits.time_s}
    placed = {name.removeprefix(f"{TESTS}/"): file for name, file in tests.items() if name.startswith(f"{TESTS}/")}
    files = {f"repo/{name}": file for name, file in {**_out_of_the_way(repo, placed), **placed}.items()}
    harness = {"harness/runner.py": File(script_runner()), "harness/plan.json": File(json.dumps(plan).encode("ascii"))}
    return tar_bytes({**files, **harness})


def grade_script(outcome: Outcome) -> list[CaseResult]:
    """The only case of an instance that is tested by a script."""
    cause, detail = _judge(outcome)
    return [CaseResult(CASE, 0, CAUSES[cause].status, visible(detail, keep="\n")[:MAX_DETAIL])]


def log_verdict(text: str) -> tuple[Cause, str]:
    """What a log says, by the original's rule: words, and nothing else."""
    failed = len(re.findall(r"\bFailed\b", text))
    if failed:
        return Cause.DIFFERENT, f"the log says Failed {counted(failed, 'time')}"
    if re.search(r"\bPassed\b", text):
        return Cause.EQUAL, ""
    return Cause.RAISED, "the log ends before any verdict, which counts as failed"


def check_scripts(rows: Sequence[DatasetRow], fresh_seeds: int) -> None:
    """See before a run whether its scripts can be evaluated as asked.

    Raises:
        ArgumentError: fresh seeds, which scripts do not have.
        InputError: a row without an image.
    """
    scripts = [row for row in rows if is_script(row)]
    if scripts and fresh_seeds:
        raise ArgumentError("fresh_seeds", f"{scripts[0]['instance_id']} is tested by a script, which has no seeds")
    if without := [row["instance_id"] for row in scripts if not row["docker_image"]]:
        raise InputError(f"{without[0]}: no image to run its script in (no Dockerfile was imported); leave it out")


def is_script(row: DatasetRow) -> bool:
    """Whether an instance is tested by a script."""
    return row["test_protocol"] == SCRIPT


def _out_of_the_way(repo: Mapping[str, File], placed: Mapping[str, File]) -> dict[str, File]:
    """The files of a repository that leave room for the tests: an answer may have one where they need a folder."""
    folders = {str(parent) for name in placed for parent in PurePosixPath(name).parents}
    return {
        name: file
        for name, file in repo.items()
        if name not in folders and not any(str(parent) in placed for parent in PurePosixPath(name).parents)
    }


def _judge(outcome: Outcome) -> tuple[Cause, str]:
    facts = _facts(outcome.stdout)
    if facts is None:
        if outcome.ended is Ended.TIME_LIMIT:
            return Cause.TIME_LIMIT, f"the script did not end within the time limit ({outcome.duration_s:.0f} s)"
        if outcome.ended is Ended.OUT_OF_MEMORY:
            return Cause.OUT_OF_MEMORY, "the memory limit of the sandbox was reached"
        if outcome.ended is Ended.OUTPUT_LIMIT:
            return Cause.OUTPUT_LIMIT, "the sandbox wrote more than its output limit"
        return Cause.NO_OUTPUT, "the runner ended before the script did"
    if facts.get("oom") is True:
        return Cause.OUT_OF_MEMORY, "killed by the kernel: the memory limit was reached"
    if facts.get("exit") is None and facts.get("signal") is None:
        return Cause.TIME_LIMIT, "the script did not end within the time limit"
    found = facts.get("logs")
    logs = [text for text in found.values() if isinstance(text, str)] if isinstance(found, dict) else []
    printed, errors = str(facts.get("printed", "")), str(facts.get("errors", ""))
    # The original reads log files; a script that only prints has its output for a log. A traceback is no log: it quotes
    # the script, verdicts among it.
    log = "\n".join(logs) if logs else printed
    cause, detail = log_verdict(log)
    last = "\n".join((errors.strip() or log.strip()).splitlines()[-_LAST_LINES:])
    return cause, f"{detail}\n{last}".strip() if detail else ""


def _facts(stream: bytes) -> dict[str, object] | None:
    """What the runner says of the script; None if it says nothing, or nothing that can be read."""
    try:
        frames = list(read_frames(stream))
    except StreamError:
        return None
    if len(frames) != 1 or len(frames[0].payload) > _MAX_FACTS:
        return None
    try:
        value = json.loads(frames[0].payload)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
