"""Run workspaces in child processes of this machine: rlimits, few variables, a temporary folder.

This is not a security boundary: tested code runs as this user and can reach files and network. It
serves machines without an engine and quick work on trusted tasks; results say `local`, and no
leaderboard accepts them.

A process of root that is alone in its container, such as the verifier inside another harness
(`lmrbench/export/verifier.py`), can run tested code as another user, who can read nothing that is
closed to others and cannot signal this process. The two still share the container's network,
processes and disk.
"""

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from lmrbench_data.base.errors import InfraError

from ..runner import zygote_arguments, zygote_program
from .base import ENVIRONMENT, PYTHON_OPTIONS, Limits
from .child_sandbox import ChildSandbox, ChildZygote, ZygoteChild
from .processes import has_processes
from .zygote import Zygote
from .zygotes import CONTAINER, SHARED, Isolation

#: Kills all processes of a user, as that user, who cannot signal the killer in turn: its real user
#: is another one.
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

    def __init__(
        self,
        benchmark: Path | None = None,
        isolation: Isolation = SHARED,
        *,
        user: int | None = None,
    ) -> None:
        """Prepare the sandbox; no process is started yet.

        Args:
            user: number of the user and group to run tested code as, one run at a time; by default,
                this user. All processes of another user end with each run.
        """
        super().__init__(benchmark, isolation if user is None else CONTAINER)
        self._user = user

    @contextlib.contextmanager
    def zygote(self, image: str, limits: Limits) -> Iterator[Zygote]:
        """Start a zygote, and end it after the block."""
        program = zygote_program(walls=None)
        child = ZygoteChild(
            [sys.executable, *PYTHON_OPTIONS, *zygote_arguments(program)],
            environment={**ENVIRONMENT, "PATH": os.defpath},
            folder=Path("/"),
            user=self._user,
        )
        try:
            with self.running(child):
                zygote = _LocalZygote(child, self._user)
                zygote.start(program)
                yield zygote
        finally:
            if self._user is not None:
                _kill_all_of(self._user)


class _LocalZygote(ChildZygote):
    """A zygote whose jobs have a folder each; it ends what a job leaves running."""

    def __init__(self, child: ZygoteChild, user: int | None) -> None:
        super().__init__(child)
        self._user = user

    @contextlib.contextmanager
    def folder(self) -> Iterator[str]:
        folder = tempfile.mkdtemp(prefix="lmrbench-")
        try:
            if self._user is not None:
                os.chown(folder, self._user, self._user)
            yield folder
        finally:
            if not self.job.has_ended:
                self.child.end_all()
            # Not `shutil.rmtree`: tested code can nest folders more deeply than Python recurses.
            subprocess.run(["rm", "-rf", folder], stderr=subprocess.DEVNULL, check=False)


def _kill_all_of(user: int) -> None:
    """Kill every process of a user, including those that left their session."""
    for _ in range(_TRIES):
        # All at once: one after the other, they could fork faster than they are killed.
        with contextlib.suppress(OSError):  # they leave no room for another process
            command = [sys.executable, "-I", "-S", "-c", _KILL, str(user)]
            subprocess.run(command, stderr=subprocess.DEVNULL, check=False)
        if not has_processes(user):
            return
        time.sleep(0.02)
    raise InfraError(f"processes of user {user} cannot be killed")
