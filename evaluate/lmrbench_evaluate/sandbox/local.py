"""Run workspaces in child processes of this machine: rlimits, a scrubbed environment, a temporary folder.

This is not a security boundary: tested code runs as this user and can reach files and network. It serves machines
without an engine and quick work on trusted tasks; results say `local`, and no leaderboard accepts them.

A process of root that is alone in its container, such as the verifier inside another harness
(`lmrbench/export/verifier.py`), can run tested code as another user, who can read nothing that is closed to others
and cannot signal this process. The two still share the container's network, processes and disk.
"""

import contextlib
import dataclasses
import functools
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
from lmrbench_data.base.errors import InfraError

from ..runner import zygote_arguments, zygote_program
from .base import PYTHON_OPTIONS, Limits
from .child_sandbox import ChildSandbox, below, rlimits, stat_fields
from .zygote import ZYGOTE_ENVIRONMENT, Zygote
from .zygotes import CONTAINER, SHARED, Isolation

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

    def __init__(
        self,
        benchmark: Path | None = None,
        isolation: Isolation = SHARED,
        *,
        user: int | None = None,
    ) -> None:
        """Prepare the sandbox; no process is started yet.

        Args:
            user: number of the user and group to run tested code as, one run at a time; by default, this user. All
                processes of another user end with each run.
        """
        super().__init__(benchmark, isolation if user is None else CONTAINER)
        self._user = user

    @contextlib.contextmanager
    def zygote(self, image: str, limits: Limits) -> Iterator[Zygote]:
        """Start a zygote, and end it after the block; each of its jobs has a folder."""
        program = zygote_program(walls=None, in_place=False, has_cgroup=False, required=[])
        child = Child(
            [sys.executable, *PYTHON_OPTIONS, *zygote_arguments(program)],
            environment={**ZYGOTE_ENVIRONMENT, "PATH": os.defpath},
            folder=Path("/"),
            stderr=subprocess.PIPE,
            user=self._user,
        )

        def kill() -> None:
            _kill_jobs(child.process.pid)
            child.process.kill()

        try:
            with child, self.hosted(child, kill) as host:
                folder = functools.partial(self._folder, child.process.pid)
                yield Zygote(dataclasses.replace(host, folder=folder, rlimits=rlimits), program)
        finally:
            if self._user is not None:
                _kill_all_of(self._user)

    @contextlib.contextmanager
    def _folder(self, zygote: int) -> Iterator[str]:
        """Yield the folder of a job; end what is left of the job, and remove the folder."""
        folder = tempfile.mkdtemp(prefix="lmrbench-")
        try:
            if self._user is not None:
                os.chown(folder, self._user, self._user)
            yield folder
        finally:
            _kill_jobs(zygote)
            # Not `shutil.rmtree`: tested code can nest folders more deeply than Python recurses.
            subprocess.run(["rm", "-rf", folder], stderr=subprocess.DEVNULL, check=False)


def _kill_jobs(zygote: int) -> None:
    """Kill all processes that a zygote or its jobs have started (Linux; elsewhere they time out)."""
    for _ in range(_TRIES):
        processes = list(filter(_is_running, below(zygote)))
        if not processes:
            return
        for process in processes:
            with contextlib.suppress(OSError):
                os.kill(process, signal.SIGKILL)
        time.sleep(0.02)


def _is_running(process: int) -> bool:
    """Return whether a process has not ended; one that has may wait for its parent."""
    with contextlib.suppress(OSError):
        return stat_fields(process)[0] not in (b"Z", b"X")
    return False


def _kill_all_of(user: int) -> None:
    """Kill every process of a user, including those that left their session."""
    for _ in range(_TRIES):
        # All at once: one after the other, they could fork faster than they are killed.
        with contextlib.suppress(OSError):  # they leave no room for another process
            subprocess.run(
                [sys.executable, "-I", "-S", "-c", _KILL, str(user)],
                stderr=subprocess.DEVNULL,
                check=False,
            )
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
