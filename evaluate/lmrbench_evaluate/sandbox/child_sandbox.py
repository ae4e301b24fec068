"""Run workspaces in child processes of this machine: the common part of `local` and `bwrap`.

A backend starts a zygote, says how its jobs are limited, and ends it; `base.child` starts and kills
one child. A job is limited by CPU time, which `meter` measures from outside, and by rlimits, which
it sets once it has unpacked the workspace.
"""

import contextlib
import logging
import os
import platform
import select
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from lmrbench_data.base.child import Child, describe_status
from lmrbench_data.base.errors import InfraError
from lmrbench_data.tasks.environments import Environment, known_environments

from ..runner import probe_arguments
from .base import START_S, Ended, Limits, Pieces
from .processes import cpu_seconds, descendants, kill_descendants
from .zygote import END_S, Zygote
from .zygotes import SHARED, Isolation, ZygoteSandbox

#: Longest wait for output, so that limits that a zygote watches are noticed.
WATCH_S = 0.2
_READ_BYTES = 1 << 18
_log = logging.getLogger(__name__)


class ZygoteChild(Child):
    """The process of a zygote; killing it waits until all that it has started have ended."""

    def __init__(self, command: Sequence[str], **options: Any) -> None:
        super().__init__(command, stderr=subprocess.PIPE, **options)

    def kill(self) -> None:
        self.end_all()
        super().kill()

    def end_all(self) -> None:
        """Kill the process and all that it has started; any thread may call this."""
        if self.process.poll() is None:  # else another process may have its number
            kill_descendants(self.process.pid, END_S)
            self.process.kill()


class ChildZygote(Zygote):
    """A zygote in a child process."""

    def __init__(self, child: ZygoteChild) -> None:
        super().__init__()
        self.child = child
        assert child.process.stdout is not None
        assert child.process.stderr is not None
        self._stdout = child.process.stdout.fileno()
        self._open = {self._stdout, child.process.stderr.fileno()}
        self._poll = select.poll()
        for pipe in self._open:
            self._poll.register(pipe, select.POLLIN)

    def send(self, data: bytes) -> None:
        # A zygote that has ended does not read, and its end gives the reason.
        with contextlib.suppress(BrokenPipeError, TimeoutError):
            self.child.send(data, time.monotonic() + START_S)

    def read(self, timeout_s: float) -> Pieces | None:
        # Asked before the last read, because its last output precedes its end.
        has_ended = self.child.process.poll() is not None
        wait_s = 0 if has_ended else min(timeout_s, WATCH_S)
        pieces: Pieces = []
        for pipe, _ in self._poll.poll(1000 * wait_s):
            data = os.read(pipe, _READ_BYTES)
            if data:
                pieces.append((pipe == self._stdout, data))
            else:
                self._poll.unregister(pipe)
                self._open.discard(pipe)
        # A process that left its session may hold the pipes open after the zygote has ended.
        is_end = has_ended or not self._open
        return None if is_end and not pieces else pieces

    def cpu_seconds(self) -> float:
        """Return the CPU seconds of its processes and of those that they have waited for."""
        zygote = self.child.process.pid
        return cpu_seconds({zygote, *descendants(zygote)})

    def offered_share(self, seconds: float) -> float:
        # In a session of its own, like a run: schedulers divide the machine between sessions.
        command = [sys.executable, *probe_arguments(seconds)]
        try:
            output = subprocess.check_output(
                command, stderr=subprocess.DEVNULL, start_new_session=True
            )
            return float(output)
        except (OSError, subprocess.SubprocessError):
            return 1.0  # tested code may have used up all processes: that must not excuse it

    def describe_end(self, errors: str) -> tuple[Ended, str]:
        status = describe_status(self.child.process.wait())
        return Ended.EXITED, f"{status}: {errors.strip()[-300:]}"

    def rlimits(self, limits: Limits) -> Mapping[str, int]:
        return {
            "RLIMIT_DATA": limits.memory_mb * 2**20,
            "RLIMIT_FSIZE": limits.disk_mb * 2**20,
            "RLIMIT_CORE": 0,
            "RLIMIT_NOFILE": 1024,
        }


class ChildSandbox(ZygoteSandbox):
    """The child processes of one harness process."""

    official = False

    def __init__(self, benchmark: Path | None = None, isolation: Isolation = SHARED) -> None:
        super().__init__(isolation)
        self._benchmark = benchmark
        self._children: set[ZygoteChild] = set()

    def prepare(self, tag: str) -> str:
        """Check that this Python has the environment's packages; return their versions."""
        return _check_packages(find_environment(tag, self._benchmark).packages(), self.name)

    def close(self) -> None:
        super().close()
        with self._lock:
            children = list(self._children)
        for child in children:
            child.end_all()

    @contextlib.contextmanager
    def running(self, child: ZygoteChild) -> Iterator[None]:
        """Kill a child at the end of the block, or when the sandbox is closed meanwhile."""
        with child:
            with self._lock:
                self.refuse_if_closed()  # while the process was being started
                self._children.add(child)
            try:
                yield
            finally:
                with self._lock:
                    self._children.discard(child)


def find_environment(tag: str, benchmark: Path | None = None) -> Environment:
    """Return the environment with this image tag or, if its content has changed, this name.

    Raises:
        InfraError: there is none.
    """
    name = tag.partition("/")[2].partition(":")[0]
    known = [item for item in known_environments(benchmark) if item.name == name]
    if not known:
        raise InfraError(
            f"environment {name!r} is not in this installation; use the docker sandbox, or upgrade"
        )
    return next((item for item in known if item.tag == tag), known[0])


def _check_packages(requirements: Iterable[str], sandbox: str) -> str:
    """Return the versions of Python and of these packages; log those that differ."""
    versions = [f"python {platform.python_version()}"]
    missing = []
    different = []
    for requirement in requirements:
        package, _, version = requirement.partition("==")
        try:
            installed = metadata.version(package).partition("+")[0]
        except metadata.PackageNotFoundError:
            missing.append(requirement)
            continue
        versions.append(f"{package} {installed}")
        if installed != version:
            different.append(f"{package} {installed} instead of {version}")
    if missing:
        raise InfraError(
            f"the {sandbox} sandbox lacks {', '.join(missing)}; "
            "run `pip install 'lmrbench[local]'` or start Docker"
        )
    if different:
        text = ", ".join(different)
        _log.warning("this Python has %s; results may differ from those in the image", text)
    return "; ".join(versions)
