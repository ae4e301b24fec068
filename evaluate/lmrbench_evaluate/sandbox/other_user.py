"""Run workspaces as another user of this container: for a process of root that is alone in it.

Tested code can read nothing that is closed to others, cannot write to it, and cannot signal this process. It shares the
container's network, processes and disk, so this is not an official sandbox. It serves verifiers inside the containers
of other harnesses (`lmrbench_data/export/verifier.py`).
"""

import contextlib
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from lmrbench_data.base.child import Child
from lmrbench_data.base.errors import InfraError

from ..runner import bootstrap
from .base import Limits
from .child_sandbox import ChildSandbox, Started, cpu_seconds, rlimits

#: Kills as that user, who cannot signal the killer in turn: its real user is another one.
_KILL = """
import os, signal, sys
user = int(sys.argv[1])
os.setgroups([])
os.setresgid(user, user, user)
os.setresuid(user - 1, user, user - 1)
os.kill(-1, signal.SIGKILL)
"""
_TRIES = 50


class OtherUserSandbox(ChildSandbox):
    """Child processes of a user of their own; runs one workspace at a time."""

    name = "other-user"

    def __init__(self, user: int) -> None:
        """Prepare the sandbox; no process is started yet.

        Args:
            user: number of the user and group to run tested code as. All processes of this user end with each run.
        """
        super().__init__()
        self._user = user

    @contextlib.contextmanager
    def _start(self, image: str, size: int, limits: Limits) -> Iterator[Started]:
        folder = Path(tempfile.mkdtemp(prefix="lmrbench-"))
        command = [sys.executable, "-I", "-c", bootstrap(), str(size), str(folder), rlimits(limits)]
        environment = {"PATH": os.defpath, "LANG": "C.UTF-8"}
        pipe = subprocess.PIPE
        try:
            os.chown(folder, self._user, self._user)
            with Child(command, environment=environment, folder=folder, stderr=pipe, user=self._user) as child:
                yield Started(
                    child,
                    cpu_seconds=lambda: cpu_seconds({child.process.pid, *_processes_of(self._user)}),
                    kill=lambda: _kill_all_of(self._user),
                )
        finally:
            _kill_all_of(self._user)
            # Not `shutil.rmtree`: tested code can nest folders more deeply than Python recurses.
            subprocess.run(["rm", "-rf", str(folder)], stderr=subprocess.DEVNULL, check=False)


def _kill_all_of(user: int) -> None:
    """Kill every process of a user, including those that left their session.

    Raises:
        InfraError: some cannot be killed.
    """
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
