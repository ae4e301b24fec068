"""Whether a reference repository does what its README says: its demo runs and prints, its visible smoke tests pass.

Both are seen by models, and nothing else runs them. They run on the unmasked reference, in the sandbox and by the
runner that cases run by: to the sandbox, each is a case of a program of ours (`_PROGRAM`).
"""

import shlex
from collections.abc import Mapping

from lmrbench_data.base.errors import InfraError
from lmrbench_data.tasks.task import Task

from ..rebuild.workspace import workspace_tar
from ..sandbox.base import Ended, Limits, Sandbox
from ..sandbox.turns import run_fairly
from ..verdict.decode import StreamError, decode, read_frames, read_json

#: CPU seconds of the demo and of the smoke tests, each. READMEs promise a minute; a slow processor may take three.
LIMIT_S = 180
MEMORY_MB = 4096
SMOKE_TESTS = "python -m unittest discover tests"
#: Lines of a demo that shows something; a single one is no curve and no table.
_LEAST_LINES = 3
#: Of what a command that failed has said, the end.
_MAX_SAID = 400

_PROGRAM = """
import os, subprocess, sys

def run(arguments):
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([sys.executable, *arguments], env=environment, stdin=subprocess.DEVNULL, text=True,
                          errors="replace", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return {"status": done.returncode, "stdout": done.stdout[-20000:], "stderr": done.stderr[-20000:]}

def case_demo(seed):
    return run(DEMO)

def case_smoke(seed):
    return run(SMOKE)
"""


def repository_faults(task: Task, sandbox: Sandbox, image: str) -> dict[str, str]:
    """What is wrong with a task's reference repository, "" where nothing is: `demo` and `smoke tests`.

    Args:
        image: what `sandbox.prepare(task.image_tag)` returned.

    Raises:
        InfraError: the machinery failed, so that nothing can be said.
    """
    return {
        "demo": _demo_fault(task.demo_command, *_run(task, "demo", sandbox, image)),
        "smoke tests": _smoke_fault(*_run(task, "smoke", sandbox, image)),
    }


def _program(task: Task) -> bytes:
    demo, smoke = (shlex.split(command)[1:] for command in (task.demo_command, SMOKE_TESTS))
    return f"{_PROGRAM}\nDEMO, SMOKE = {demo!r}, {smoke!r}\n".encode()


def _run(task: Task, case: str, sandbox: Sandbox, image: str) -> tuple[Mapping[str, object], str]:
    """(status and output of one of the commands, empty if it did not come to its end; why it did not)."""
    workspace = workspace_tar(task.repo, _program(task), runs=[(case, 0)], limit_s=LIMIT_S)
    outcome = run_fairly(sandbox, image, workspace, Limits(LIMIT_S, MEMORY_MB))
    if outcome.ended is Ended.TIME_LIMIT:
        return {}, f"takes more than {LIMIT_S} s of CPU time; a reader's CPU has to do it in a minute"
    if outcome.ended is not Ended.EXITED:
        return {}, f"ended with {outcome.ended} ({MEMORY_MB} MB are allowed)"
    try:
        [frame] = read_frames(outcome.stdout)
        if frame.kind != "output":
            return {}, f"could not be run to its end: {str(read_json(frame.payload))[:_MAX_SAID]}"
        return dict(decode(frame.payload)["dict"]), ""
    except (StreamError, ValueError) as error:
        raise InfraError(f"{task.name}: nothing was heard of the {case} command ({error})") from error


def _demo_fault(command: str, facts: Mapping[str, object], reason: str) -> str:
    if reason:
        return f"`{command}` {reason}"
    if facts["status"] != 0:
        return f"`{command}` ends with status {facts['status']}: {_last(facts['stderr'])}"
    lines = len(str(facts["stdout"]).splitlines())
    if lines < _LEAST_LINES:
        return f"`{command}` prints {lines} lines; let it show something, such as a loss that falls"
    return ""


def _smoke_fault(facts: Mapping[str, object], reason: str) -> str:
    if reason:
        return f"`{SMOKE_TESTS}` {reason}"
    said = str(facts["stderr"])
    if "Ran 0 tests" in said:
        return f"`{SMOKE_TESTS}` finds no test; write unittest.TestCase classes in tests/test_*.py"
    if facts["status"] != 0:
        return f"`{SMOKE_TESTS}` fails: {_last(_first_failure(said))}"
    return ""


def _first_failure(said: str) -> str:
    """What unittest says of the first test that failed, without its summary."""
    blocks = said.split("=" * 70)
    return blocks[1].partition("-" * 70 + "\nRan ")[0] if len(blocks) > 1 else said


def _last(said: object) -> str:
    """The end of a traceback, on one line."""
    lines = [line.strip() for line in str(said).splitlines() if line.strip(" -=")]
    return " ".join(" | ".join(lines[-3:]).split())[-_MAX_SAID:] or "it says nothing"
