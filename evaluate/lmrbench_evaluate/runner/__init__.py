"""The program that runs inside every sandbox, as text.

A *zygote* (`zygote.py`) loads libraries and forks a *job* for each answer, behind walls where
answers share the sandbox (`walls.py`, `seccomp.py`). The job unpacks the workspace (`job.py`) and
becomes its runner (`runner.py`), which forks a child for each case, or one child for all of them
(`together.py`). `encoding.py` turns outputs into bytes, `cgroup.py` reads counters of the kernel,
and cases import `lmrbench_cases.py`. `probe.py` measures the machine in a sandbox of its own. All
need Python 3.11 and the standard library; they use torch, NumPy and pandas only where the task
does. The harness imports only `seccomp.py` and `walls.py`.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

_HERE = Path(__file__).resolve().parent
#: Each imports only those before it.
_FILES = (
    "encoding.py",
    "lmrbench_cases.py",
    "cgroup.py",
    "seccomp.py",
    "walls.py",
    "runner.py",
    "together.py",
    "job.py",
    "zygote.py",
)
#: Reads as many bytes of stdin as its argument says and none of the messages after them; loads the
#: modules that they hold as JSON (name → source), and starts the last one. As an argument, the
#: program would fill the output of `ps`.
_LOADER = """
import json, os, sys, types
program = b""
while (rest := int(sys.argv[1]) - len(program)) and (part := os.read(0, rest)):
    program += part
files, settings = json.loads(program)
for name, text in files.items():
    module = sys.modules[name.removesuffix(".py")] = types.ModuleType(name.removesuffix(".py"))
    module.__file__ = name
    exec(compile(text, name, "exec"), module.__dict__)
module.main(settings)
"""


def _source(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


def probe_arguments(seconds: float) -> list[str]:
    """Return the arguments for Python that measure the machine (`probe.py`)."""
    return ["-I", "-S", "-c", _source("probe.py"), str(seconds)]


def zygote_program(
    *,
    walls: Mapping[str, int] | None,
    in_place: bool = False,
    has_cgroup: bool = False,
    required: Sequence[str] = (),
) -> bytes:
    """Return what a zygote reads first from stdin; `zygote.main` describes the settings."""
    settings = {
        "walls": walls,
        "in_place": in_place,
        "has_cgroup": has_cgroup,
        "required": required,
    }
    return json.dumps([{name: _source(name) for name in _FILES}, settings]).encode("ascii")


def zygote_arguments(program: bytes) -> list[str]:
    """Return the arguments for Python that start a zygote with this program."""
    return ["-c", _LOADER, str(len(program))]


def zygote_message(
    workspace: bytes, modules: Sequence[str], work: str, rlimits: Mapping[str, int]
) -> bytes:
    """Return the message by which a zygote takes a job."""
    head = {"modules": [*modules], "work": work, "rlimits": rlimits, "size": len(workspace)}
    return json.dumps(head).encode("ascii") + b"\n" + workspace


def one_answer(workspace: bytes, modules: Sequence[str], work: str) -> tuple[list[str], bytes]:
    """Return Python's arguments and stdin that run one answer in a container of another engine.

    Its output follows a line of stdout that begins with `begin`.
    """
    program = zygote_program(walls=None, in_place=True, has_cgroup=True)
    return zygote_arguments(program), program + zygote_message(workspace, modules, work, {})


def runner_sha256() -> str:
    """Return the identity of all code that runs in the sandbox beside the task's."""
    return hashlib.sha256(b"".join(_source(name).encode() for name in _FILES)).hexdigest()
