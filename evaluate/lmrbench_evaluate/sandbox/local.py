"""Run workspaces in a child process of this machine: rlimits, a scrubbed environment, a temporary folder.

This is not a security boundary: tested code runs as this user and can reach files and network. It serves machines
without an engine and quick work on trusted tasks; results say `local`, and no leaderboard accepts them.

A process of root that is alone in its container, such as the verifier inside another harness
(`lmrbench_data/export/verifier.py`), can run tested code as another user, who can read nothing that is closed to others
and cannot signal this process. The two still share the container's network, processes and disk.
"""

import contextlib
import functools
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

from lmrbench_data.base.child import Child
from lmrbench_data.base.errors import InfraError

from ..runner import source
from .base import ENVIRONMENT, PYTHON_OPTIONS, Limits
from .child_sandbox import ChildSandbox, Started, cpu_seconds, rlimits

#: An environment variable of all processes of a run, by which stragglers are found.
_MARK = "LMRBENCH_LOCAL_SANDBOX"
#: Kills all processes of a user, as that user, who cannot signal the killer in turn: its real user is another one.
_KILL = """
import os, signal, sys
user = int(sys.argv[1])
os.setgroups([])
os.setresgid(user, user, user)
os.setresuid(user - 1, user, user - 1)
os.kill(-1, signal.SIGKILL)
"""
_TRIES = 50


class LocalSandbox(ChildSandbox):
    """Child processes without isolation."""

    name = "local"

    def __init__(self, benchmark: Path | None = None, user: int | None = None) -> None:
        """Prepare the sandbox; no process is started yet.

        Args:
            user: number of the user and group to run tested code as, one run at a time; by default, this user. All
                processes of another user end with each run.
        """
        super().__init__(benchmark)
        self._user = user

    @contextlib.contextmanager
    def _start(self, image: str, size: int, limits: Limits) -> Iterator[Started]:
        environment = {**ENVIRONMENT, "PATH": os.defpath}
        processes: Callable[[], Iterator[int]]
        kill: Callable[[], None]
        if self._user is None:
            environment[_MARK] = mark = uuid.uuid4().hex
            processes, kill = functools.partial(_marked, mark), functools.partial(_kill_marked, mark)
        else:
            processes = functools.partial(_processes_of, self._user)
            kill = functools.partial(_kill_all_of, self._user)
        folder = Path(tempfile.mkdtemp(prefix="lmrbench-"))
        code = [source("bootstrap.py"), str(size), str(folder), json.dumps(rlimits(limits))]
        command = [sys.executable, *PYTHON_OPTIONS, "-c", *code]
        pipe = subprocess.PIPE
        try:
            if self._user is not None:
                os.chown(folder, self._user, self._user)
            with Child(command, environment=environment, folder=folder, stderr=pipe, user=self._user) as child:
                yield Started(child, cpu_seconds=lambda: cpu_seconds({child.process.pid, *processes()}), kill=kill)
        finally:
            kill()
            # Not `shutil.rmtree`: tested code can nest folders more deeply than Python recurses.
            subprocess.run(["rm", "-rf", str(folder)], stderr=subprocess.DEVNULL, check=False)


def _kill_marked(mark: str) -> None:
    """Kill every process of a run, including those that left its session (Linux; elsewhere they time out)."""
    for _ in range(5):
        if not (processes := list(_marked(mark))):
            return
        for process in processes:
            with contextlib.suppress(OSError):
                os.kill(process, signal.SIGKILL)
        time.sleep(0.02)


def _marked(mark: str) -> Iterator[int]:
    """Yield the processes of a run whose environment this user may read."""
    needle = f"{_MARK}={mark}".encode()
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError, ValueError):
            if needle in path.read_bytes():
                yield int(path.parent.name)


def _kill_all_of(user: int) -> None:
    """Kill every process of a user, including those that left their session."""
    for _ in range(_TRIES):
        # All at once: one after the other, they could fork faster than they are killed.
        with contextlib.suppress(OSError):  # they leave no room for another process
            subprocess.run([sys.executable, "-I", "-S", "-c", _KILL, str(user)], stderr=subprocess.DEVNULL, check=False)
        if not any(_processes_of(user)):
            return
        time.sleep(0.02)
    raise InfraError(f"processes of user {user} cannot be killed")


def _processes_of(user: int) -> Iterator[int]:
    """Yield the processes of a user, except those that have ended and wait for their parent."""
    running = re.compile(rf"^State:\t[^Z].*^Uid:\t{user}\t", re.MULTILINE | re.DOTALL)
    for path in Path("/proc").glob("[0-9]*/status"):
        with contextlib.suppress(OSError):
            if running.search(path.read_text(encoding="utf-8", errors="replace")):
                yield int(path.parent.name)
