"""Workspaces whose one case runs a few lines, and what becomes of their processes."""

import contextlib
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from lmrbench_data.loader import File
from lmrbench_evaluate.rebuild.workspace import workspace_tar
from lmrbench_evaluate.sandbox.base import Outcome
from lmrbench_evaluate.verdict.decode import decode, read_frames


def workspace_of(body: str, repo: dict[str, File] | None = None, *, together: bool = False) -> bytes:
    """Return a workspace whose one case runs `body`."""
    cases = f"def case_only(seed):\n{textwrap.indent(textwrap.dedent(body), '    ')}\n"
    files = repo or {"empty.py": File(b"")}
    return workspace_tar(files, cases.encode(), runs=[("only", 0)], limit_s=60, together=together)


def output_of(outcome: Outcome) -> Any:
    """Return what that case returned."""
    [frame] = read_frames(outcome.stdout)
    assert frame.kind == "output", frame.payload
    return decode(frame.payload)


HARNESS = """
import sys
from lmrbench_evaluate.sandbox import open_sandbox
from lmrbench_evaluate.sandbox.base import Limits

sandbox = open_sandbox(sys.argv[1])
print(getattr(sandbox, "run_id", "running"), flush=True)
print(sandbox.run(sys.argv[2], sys.stdin.buffer.read(), Limits(float(sys.argv[3]), 256)).ended, flush=True)
sandbox.close()
"""


@contextlib.contextmanager
def harness(
    kind: str, body: str, image: str = "", time_s: float = 60, **options: Any
) -> Iterator[tuple["subprocess.Popen[bytes]", str]]:
    """Start a harness that runs `body` in a sandbox; yield its process, and the id of its run if it has one."""
    command = [sys.executable, "-P", "-c", HARNESS, kind, image, str(time_s)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, **options) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(workspace_of(body))
        process.stdin.close()
        yield process, process.stdout.readline().decode().strip()


def until(condition: Callable[[], object], seconds: float = 60) -> bool:
    """Wait for a condition; return whether it held at some moment."""
    stop = time.monotonic() + seconds
    while time.monotonic() < stop:
        if condition():  # it may hold for a moment only
            return True
        time.sleep(0.05)
    return False


def processes_with(mark: str, but_child_of: int = 0) -> list[int]:
    """Return the processes of this machine with this argument, but no child of one process."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it has just ended
            child = f"PPid:\t{but_child_of}\n" in path.with_name("status").read_text()
            if mark.encode() in path.read_bytes().split(b"\0") and not child:
                found.append(int(path.parent.name))
    return found


def is_running(process: str | int) -> bool:
    """Return whether a process exists and has not ended."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False
