"""Run workspaces in bubblewrap: walls without a daemon, for machines that have no container engine.

A zygote has process, IPC, mount, host name and network namespaces of its own, a read-only system and no network; it
builds walls around each answer (`runner/walls.py`). Started by an ordinary user, it has a user namespace; started by
root, its answers have a user of their own. Memory is measured from outside, not limited by the kernel, and packages are
those of this machine: results say `bwrap`, and no leaderboard accepts them.

The zygote is process 1: when it ends, the kernel ends all other processes. It ends with bwrap, and bwrap ends with the
harness.
"""

import contextlib
import dataclasses
import functools
import os
import platform
import re
import secrets
import shutil
import signal
import subprocess
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from pathlib import Path

from lmrbench_data.base.child import Child
from lmrbench_data.base.errors import InfraError

from ..runner import zygote_arguments, zygote_program
from ..runner.seccomp import filter_program
from .base import PYTHON_OPTIONS, USER_NAME, Ended, Limits
from .bwrap_view import (
    CONFIGURATION,
    PYTHON,
    configuration,
    import_names,
    package_mounts,
    system_mounts,
)
from .child_sandbox import ChildSandbox, find_environment, memory_of, memory_watch, parents, rlimits
from .zygote import OWN_PROCESSES, WORK, ZYGOTE_ENVIRONMENT, GoneError, Zygote
from .zygotes import SHARED, Isolation

#: The user inside a user namespace; there, the limit of processes counts only those of the run.
_USER = "65534"
_USER_NAMESPACE = ("--unshare-user", "--uid", _USER, "--gid", _USER, "--cap-drop", "ALL")
#: The first kernel that counts processes by user namespace.
_KERNEL = (5, 14)
#: Each of root's runs gets a random user of this many, without processes: the kernel counts processes by user.
_FIRST_USER, _USERS = 1_500_000_000, 2**24
#: What root's zygotes need to build walls; those of an ordinary user have no capability.
_CAPABILITIES = ("SYS_ADMIN", "NET_ADMIN", "SETUID", "SETGID", "SETPCAP", "KILL")
_ENVIRONMENT = {**ZYGOTE_ENVIRONMENT, "HOME": WORK, "PATH": "/python/bin:/usr/bin:/bin"}
#: Seconds that the kernel may take to end all processes of a run.
_END_S = 10.0
_MB = 2**20


class BwrapSandbox(ChildSandbox):
    """The sandboxed zygotes of one harness process."""

    name = "bwrap"

    def __init__(self, benchmark: Path | None = None, isolation: Isolation = SHARED) -> None:
        """Check with a zygote that this user may use bubblewrap on this machine; InfraError if not."""
        super().__init__(benchmark, isolation)
        program = shutil.which("bwrap")
        if program is None:
            raise InfraError("bubblewrap is not installed (Debian: `apt-get install bubblewrap`)")
        if os.geteuid() != 0 and _kernel() < _KERNEL:
            raise InfraError(
                f"bubblewrap needs Linux {_KERNEL[0]}.{_KERNEL[1]} here, but this is {platform.release()}"
            )
        self._program = program
        try:
            filter_program()
        except OSError as error:
            raise InfraError(str(error)) from error
        self._system = system_mounts(benchmark)
        #: Options by identity, as found by `prepare`.
        self._packages: dict[str, list[str]] = {}
        #: Names of libraries by identity, likewise.
        self._required: dict[str, list[str]] = {}
        try:
            with self.zygote("", Limits(0, 0)):
                pass
        except GoneError as error:
            raise InfraError(f"bubblewrap does not work on this machine: {error}") from error

    def prepare(self, tag: str) -> str:
        """Check that this Python has the environment's packages; a zygote reports one that it cannot import."""
        identity = super().prepare(tag)
        if identity not in self._packages:
            requirements = find_environment(tag, self._benchmark).packages()
            self._required[identity] = import_names(requirements)
            self._packages[identity] = package_mounts(requirements)
        return identity

    def kind(self, image: str, limits: Limits) -> Hashable:
        return image, limits.disk_mb  # the rest is limited for each job

    @contextlib.contextmanager
    def zygote(self, image: str, limits: Limits) -> Iterator[Zygote]:
        """Start a zygote in bubblewrap, and end it after the block."""
        user = _new_user()
        walls = {"user": int(user), "disk_mb": limits.disk_mb}
        required = self._required.get(image, [])
        program = zygote_program(walls=walls, in_place=False, has_cgroup=False, required=required)
        with self._command(
            zygote_arguments(program), self._packages.get(image, ()), limits, user
        ) as (command, fds):
            child = _Contained(
                command, environment=_ENVIRONMENT, stderr=subprocess.PIPE, pass_fds=fds
            )

        def watch(limits: Limits) -> Callable[[], Ended | None]:
            return memory_watch(functools.partial(memory_of, child.process.pid, limits), limits)

        with child, self.hosted(child, child.kill_contained) as host:
            yield Zygote(
                dataclasses.replace(host, watch=watch, rlimits=_rlimits),
                program,
            )

    @contextlib.contextmanager
    def _command(
        self, arguments: Sequence[str], mounts: Iterable[str], limits: Limits, user: str
    ) -> Iterator[tuple[list[str], list[int]]]:
        """Yield the command that runs Python with these arguments, and the descriptors that it must inherit."""
        with contextlib.ExitStack() as opened:
            entry = (
                f"{USER_NAME}:x:{user}:{user}:{USER_NAME}:/nonexistent:/usr/sbin/nologin\n".encode()
            )
            inherited = [opened.enter_context(_readable(data)) for data in (configuration(), entry)]
            venv, passwd = map(str, inherited)
            folder = ("--size", str(limits.disk_mb * _MB), "--perms", "1777", "--tmpfs")
            command = [
                *(self._program, *_user_options()),
                *(
                    "--unshare-ipc",
                    "--unshare-pid",
                    "--unshare-net",
                    "--unshare-uts",
                    "--unshare-cgroup-try",
                ),
                *("--die-with-parent", "--new-session", "--as-pid-1", "--hostname", "sandbox"),
                *self._system,
                *mounts,
                *(
                    "--file",
                    venv,
                    CONFIGURATION,
                    "--perms",
                    "0644",
                    "--file",
                    passwd,
                    "/etc/passwd",
                ),
                # A shared mapping of /dev/zero would be memory that no limit covers.
                *("--proc", "/proc", "--dev", "/dev", "--dev-bind", "/dev/null", "/dev/zero"),
                *(*folder, "/tmp", *folder, WORK, "--chdir", WORK),
                # bwrap leaves both writable, without a limit on their size.
                *("--remount-ro", "/dev", "--remount-ro", "/"),
                *("--", PYTHON, *PYTHON_OPTIONS, *arguments),
            ]
            yield command, inherited


class _Contained(Child):
    """A bwrap process; killing it waits until every process of its run has ended."""

    def kill(self) -> None:
        self.kill_contained()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(_END_S)
        super().kill()

    def kill_contained(self) -> None:
        """Kill process 1 of the run; the kernel kills all others, and bwrap ends after the last one."""
        if self.process.poll() is None:
            for process, parent in parents().items():
                if parent == self.process.pid:
                    with contextlib.suppress(OSError):
                        os.kill(process, signal.SIGKILL)


def _new_user() -> str:
    return _USER if os.geteuid() != 0 else str(_FIRST_USER + secrets.randbelow(_USERS))


def _rlimits(limits: Limits) -> dict[str, int]:
    """Return the rlimits of a job; the kernel counts an ordinary user's zygote with it."""
    more = OWN_PROCESSES if os.geteuid() != 0 else 0
    return rlimits(limits, RLIMIT_NPROC=limits.processes + more)


def _user_options() -> Sequence[str]:
    """Return bwrap's options for the rights of a zygote."""
    if os.geteuid() != 0:
        return _USER_NAMESPACE
    return [
        "--cap-drop",
        "ALL",
        *(word for name in _CAPABILITIES for word in ("--cap-add", f"CAP_{name}")),
    ]


@contextlib.contextmanager
def _readable(data: bytes) -> Iterator[int]:
    """Yield a descriptor from which another process can read a little data."""
    ours, theirs = os.pipe()
    try:
        os.write(theirs, data)
        os.close(theirs)
        yield ours
    finally:
        os.close(ours)


def _kernel() -> tuple[int, int]:
    found = re.match(r"(\d+)\.(\d+)", platform.release())
    return (int(found[1]), int(found[2])) if found else (0, 0)
