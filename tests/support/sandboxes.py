"""Workspaces whose one case runs a few lines, and what becomes of their processes."""

import contextlib
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lmrbench_data.loader import File
from lmrbench_evaluate.rebuild.workspace import workspace_tar
from lmrbench_evaluate.sandbox.base import Outcome
from lmrbench_evaluate.verdict.decode import decode, read_frames


def workspace_of(body: str, repo: dict[str, File] | None = None) -> bytes:
    """Return a workspace whose one case runs `body`."""
    cases = f"def case_only(seed):\n{textwrap.indent(textwrap.dedent(body), '    ')}\n"
    return workspace_tar(repo or {"empty.py": File(b"")}, cases.encode(), runs=[("only", 0)], limit_s=60)


def output_of(outcome: Outcome) -> Any:
    """Return what that case returned."""
    [frame] = read_frames(outcome.stdout)
    assert frame.kind == "output", frame.payload
    return decode(frame.payload)


def until(condition: Callable[[], object], seconds: float = 60) -> bool:
    """Wait for a condition; return whether it holds."""
    stop = time.monotonic() + seconds
    while not condition() and time.monotonic() < stop:
        time.sleep(0.05)
    return bool(condition())


def processes_with(mark: str) -> list[int]:
    """Return the processes of this machine with this argument."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it has just ended
            if mark.encode() in path.read_bytes().split(b"\0"):
                found.append(int(path.parent.name))
    return found


def is_running(process: str | int) -> bool:
    """Return whether a process exists and has not ended."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False
