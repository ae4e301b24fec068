"""Run workspaces in a child process of this machine: rlimits, a scrubbed environment, a temporary folder.

This is not a security boundary: tested code runs as this user and can reach files and network. It serves machines
without an engine and quick work on trusted tasks; results say `local`, and no leaderboard accepts them.
"""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

from lmrbench_data.base.child import Child

from ..runner import bootstrap
from .base import Limits
from .child_sandbox import ChildSandbox, Started, cpu_seconds, rlimits

#: An environment variable of all processes of a run, by which stragglers are found.
_MARK = "LMRBENCH_LOCAL_SANDBOX"


class LocalSandbox(ChildSandbox):
    """Child processes without isolation."""

    name = "local"

    @contextlib.contextmanager
    def _start(self, image: str, size: int, limits: Limits) -> Iterator[Started]:
        mark = uuid.uuid4().hex
        folder = Path(tempfile.mkdtemp(prefix="lmrbench-"))
        command = [sys.executable, "-I", "-c", bootstrap(), str(size), str(folder), rlimits(limits)]
        environment = {"PATH": os.defpath, "LANG": "C.UTF-8", _MARK: mark}
        try:
            with Child(command, environment=environment, folder=folder, stderr=subprocess.PIPE) as child:
                yield Started(
                    child,
                    cpu_seconds=lambda: cpu_seconds({child.process.pid, *_marked(mark)}),
                    kill=lambda: kill_marked(mark),
                )
        finally:
            kill_marked(mark)
            # Not `shutil.rmtree`: tested code can nest folders more deeply than Python recurses.
            subprocess.run(["rm", "-rf", str(folder)], stderr=subprocess.DEVNULL, check=False)


def kill_marked(mark: str) -> None:
    """Kill every process of a run, including those that left its session (Linux; elsewhere they time out)."""
    for _ in range(5):
        found = False
        for process in _marked(mark):
            with contextlib.suppress(OSError):
                os.kill(process, signal.SIGKILL)
                found = True
        if not found:
            return
        time.sleep(0.02)


def _marked(mark: str) -> Iterator[int]:
    """Yield the processes of a run whose environment this user may read."""
    needle = f"{_MARK}={mark}".encode()
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError, ValueError):
            if needle in path.read_bytes():
                yield int(path.parent.name)
