"""Check a reference repository: its demo runs and prints, its smoke tests pass.

Models see both, and nothing else runs them. They run on the unmasked reference in the sandbox, as
two cases of a test program (`_PROGRAM`).
"""

import shlex
from collections.abc import Mapping
from typing import Any

from lmrbench_data.base.errors import InfraError
from lmrbench_data.base.text import plural, split_text
from lmrbench_data.tasks.task import Task
from lmrbench_evaluate.rebuild.workspace import workspace_tar
from lmrbench_evaluate.sandbox.base import Ended, Limits, Sandbox
from lmrbench_evaluate.sandbox.exclusive_retry import run_with_exclusive_retry
from lmrbench_evaluate.verdict.decode import StreamError, decode, read_frames, read_json

#: Limit in CPU seconds for the demo and for the smoke tests. READMEs promise a minute; a slow CPU
#: may take three.
LIMIT_S = 180
MEMORY_MB = 4096
SMOKE_TESTS = "python -m unittest discover tests"
#: Minimum number of lines that a demo prints: a curve or a table.
_LEAST_LINES = 3
#: Maximum length of a failed command's output in a message.
_MAX_OUTPUT = 400

_PROGRAM = """
import os, subprocess, sys

def run(arguments):
    done = subprocess.run([sys.executable, *arguments], stdin=subprocess.DEVNULL, text=True,
                          errors="replace", stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
    return {"status": done.returncode,
            "stdout": done.stdout[-20000:], "stderr": done.stderr[-20000:]}

def case_demo(seed):
    return run(DEMO)

def case_smoke(seed):
    return run(SMOKE)
"""


#: Status and output of a command, or the reason why it did not finish.
_Result = Mapping[str, Any] | str


def repository_errors(task: Task, sandbox: Sandbox, image: str) -> dict[str, str]:
    """Run a task's reference repository; return the errors of `demo` and `smoke tests`.

    Raises:
        InfraError: the machinery failed.
    """
    demo = _run(task, "demo", sandbox, image)
    smoke = _run(task, "smoke", sandbox, image)
    demo_error = demo if isinstance(demo, str) else _demo_error(demo)
    smoke_error = smoke if isinstance(smoke, str) else _smoke_error(smoke)
    return {
        "demo": demo_error and f"`{task.demo_command}` {demo_error}",
        "smoke tests": smoke_error and f"`{SMOKE_TESTS}` {smoke_error}",
    }


def _run(task: Task, case: str, sandbox: Sandbox, image: str) -> _Result:
    workspace = workspace_tar(task.repo, _program(task), runs=[(case, 0)], limit_s=LIMIT_S)
    limits = Limits(LIMIT_S, MEMORY_MB)
    outcome = run_with_exclusive_retry(sandbox, image, workspace, limits)
    if outcome.ended is not Ended.EXITED:
        return _failure(outcome.ended)
    try:
        return _result(outcome.stdout)
    except (StreamError, ValueError) as error:
        raise InfraError(f"{task.name}: no result from the {case} command ({error})") from error


def _failure(ended: Ended) -> str:
    if ended is Ended.TIME_LIMIT:
        return f"takes more than {LIMIT_S} s of CPU time; a reader's CPU must finish in a minute"
    return f"ended with {ended} ({MEMORY_MB} MB are allowed)"


def _program(task: Task) -> bytes:
    demo = shlex.split(task.demo_command)[1:]
    smoke = shlex.split(SMOKE_TESTS)[1:]
    return f"{_PROGRAM}\nDEMO = {demo!r}\nSMOKE = {smoke!r}\n".encode()


def _result(stdout: bytes) -> _Result:
    [frame] = read_frames(stdout)
    if frame.kind == "output":
        return dict(decode(frame.payload)["dict"])
    return f"did not finish: {str(read_json(frame.payload))[:_MAX_OUTPUT]}"


def _demo_error(result: Mapping[str, Any]) -> str:
    if result["status"] != 0:
        return f"ends with status {result['status']}: {_last(result['stderr'])}"
    lines = len(split_text(result["stdout"]))
    if lines < _LEAST_LINES:
        return f"prints {plural(lines, 'line')}; print {_LEAST_LINES} or more"
    return ""


def _smoke_error(result: Mapping[str, Any]) -> str:
    output = result["stderr"]
    if "Ran 0 tests" in output:
        return "finds no test; write unittest.TestCase classes in tests/test_*.py"
    if result["status"] == 0:
        return ""
    # unittest's report on the last failed test stands above its summary
    report = output.rpartition("-" * 70)[0]
    return f"fails: {_last(report or output)}"


def _last(output: str) -> str:
    """Return the end of a traceback in one line."""
    lines = [line.strip() for line in output.splitlines() if line.strip(" -=")]
    return " ".join(" | ".join(lines[-3:]).split())[-_MAX_OUTPUT:] or "no output"
