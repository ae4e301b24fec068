"""Run workspaces as another user of this container: for a process of root that is alone in it.

Tested code can read nothing that is closed to others, cannot write to it, and cannot signal this process. It shares the
container's network, processes and disk, so this is not an official sandbox. It serves verifiers inside the containers
of other harnesses (`lmrbench_data/export/verifier.py`).
"""

import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from lmrbench_data.base.child import Child

from ..runner import bootstrap
from .base import Limits
from .child_sandbox import ChildSandbox, Started, cpu_seconds, rlimits


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
    """Kill every process of a user, including those that left their session."""
    for _ in range(5):
        processes = list(_processes_of(user))
        for process in processes:
            with contextlib.suppress(OSError):
                os.kill(process, signal.SIGKILL)
        if not processes:
            return
        time.sleep(0.02)


def _processes_of(user: int) -> Iterator[int]:
    """Yield the processes of a user, except those that have ended and wait for their parent."""
    running = re.compile(rf"^State:\t[^Z].*^Uid:\t{user}\t", re.MULTILINE | re.DOTALL)
    for path in Path("/proc").glob("[0-9]*/status"):
        with contextlib.suppress(OSError):
            if running.search(path.read_text(encoding="utf-8", errors="replace")):
                yield int(path.parent.name)
