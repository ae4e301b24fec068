"""Run workspaces in bubblewrap: walls without a daemon, for machines that have no container engine.

A run has process, IPC, mount, host name and network namespaces of its own, no network, no capabilities, a read-only
system, small work folders in memory, and a filter of system calls. Started by an ordinary user, it has a user
namespace; started by root, a user of its own. Memory is measured from outside, not limited by the kernel, and packages
are those of this machine: results say `bwrap`, and no leaderboard accepts them.

The runner is process 1: signals from tested code do not reach it, and when it ends, the kernel ends all other
processes. It ends with bwrap, and bwrap ends with the harness.
"""

import contextlib
import functools
import json
import os
import platform
import re
import secrets
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from lmrbench_data.base.child import Child, describe_status
from lmrbench_data.base.errors import InfraError

from ..runner import source, zygote_arguments
from ..runner.seccomp import filter_program
from .base import ENVIRONMENT, PYTHON_OPTIONS, START_S, USER_NAME, Ended, Limits
from .bwrap_view import CONFIGURATION, PYTHON, configuration, import_names, package_mounts, system_mounts
from .child_sandbox import (
    ChildSandbox,
    PipeReader,
    Started,
    below,
    cpu_seconds,
    find_environment,
    memory_of,
    memory_watch,
    offered_share,
    parents,
    rlimits,
)
from .zygote import ZYGOTE_CAPABILITIES, ZYGOTE_ENVIRONMENT, Host

WORK = "/work"
#: The user inside a user namespace; there, the limit of processes counts only those of the run.
_USER = "65534"
_USER_NAMESPACE = ("--unshare-user", "--uid", _USER, "--gid", _USER, "--cap-drop", "ALL")
#: The first kernel that counts processes by user namespace.
_KERNEL = (5, 14)
#: Each of root's runs gets a random user of this many, without processes: the kernel counts processes by user.
_FIRST_USER, _USERS = 1_500_000_000, 2**24
_NEEDED_BY_SETPRIV = ("SETUID", "SETGID", "SETPCAP")
_ENVIRONMENT = {**ENVIRONMENT, "PATH": "/python/bin:/usr/bin:/bin"}
#: Seconds that the kernel may take to end all processes of a run.
_END_S = 10.0
_MB = 2**20


class BwrapSandbox(ChildSandbox):
    """The sandboxed child processes of one harness process."""

    name = "bwrap"
    zygotes_are_root = True
    """There is no second choice: they are if the harness is."""

    def __init__(self, benchmark: Path | None = None) -> None:
        """Check with an empty program that this user may use bubblewrap on this machine; InfraError if not."""
        super().__init__(benchmark)
        program = shutil.which("bwrap")
        if program is None:
            raise InfraError("bubblewrap is not installed (Debian: `apt-get install bubblewrap`)")
        if os.geteuid() != 0 and _kernel() < _KERNEL:
            raise InfraError(f"bubblewrap needs Linux {_KERNEL[0]}.{_KERNEL[1]} here, but this is {platform.release()}")
        self._program = program
        try:
            self._filter = filter_program()
        except OSError as error:
            raise InfraError(str(error)) from error
        self._system = system_mounts(benchmark)
        #: Options by identity, as found by `prepare`.
        self._packages: dict[str, list[str]] = {}
        self._preparing = threading.Lock()
        self._try("pass", [], "bubblewrap does not work on this machine")

    def prepare(self, tag: str) -> str:
        """Check that this Python has the environment's packages, and that they can be imported inside."""
        with self._preparing:
            identity = super().prepare(tag)
            if identity not in self._packages:
                requirements = find_environment(tag, self._benchmark).packages()
                mounts = package_mounts(requirements)
                # Otherwise an answer would be blamed for a library that it cannot see.
                names = ", ".join(import_names(requirements))
                if names:
                    self._try(f"import {names}", mounts, f"cannot import {names} in bubblewrap")
                self._packages[identity] = mounts
        return identity

    def _try(self, code: str, mounts: Sequence[str], problem: str) -> None:
        with self._command(["-c", code], mounts, Limits(START_S, 4096), _new_user()) as (command, inherited):
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                env=_ENVIRONMENT,
                pass_fds=inherited,
                start_new_session=True,
            )
        if done.returncode != 0:
            lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
            raise InfraError(f"{problem}: {lines[-1] if lines else f'exit status {done.returncode}'}")

    @contextlib.contextmanager
    def zygote(self, image: str, limits: Limits) -> Iterator[Host]:
        """Start a zygote in bubblewrap, and end it after the block; memory and disk are limits of each answer."""
        user = _new_user()
        own = rlimits(limits, RLIMIT_NPROC=limits.processes)
        arguments = zygote_arguments(user=int(user), disk_mb=limits.disk_mb, rlimits=own, has_cgroup=False)
        with (
            self._started(arguments, image, limits, user, _ENVIRONMENT | ZYGOTE_ENVIRONMENT, is_zygote=True) as run,
            self.registered(run),
            PipeReader(run.child.process) as reader,
        ):
            process = run.child.process
            yield Host(
                send=functools.partial(_send, run.child),
                read=reader.read,
                cpu_seconds=run.cpu_seconds,
                offered=lambda: contextlib.nullcontext(offered_share),
                watch=memory_watch(run.memory_mb, limits),
                end=lambda errors: (Ended.EXITED, f"{describe_status(process.wait())}: {errors.strip()[-300:]}"),
            )

    @contextlib.contextmanager
    def _start(self, image: str, size: int, limits: Limits) -> Iterator[Started]:
        own = json.dumps(rlimits(limits, RLIMIT_NPROC=limits.processes))
        arguments = ["-c", source("bootstrap.py"), str(size), WORK, own]
        with self._started(arguments, image, limits, _new_user(), _ENVIRONMENT) as run:
            yield run

    @contextlib.contextmanager
    def _started(
        self,
        arguments: Sequence[str],
        image: str,
        limits: Limits,
        user: str,
        environment: Mapping[str, str],
        *,
        is_zygote: bool = False,
    ) -> Iterator[Started]:
        mounts = self._packages.get(image, ())
        with self._command(arguments, mounts, limits, user, is_zygote=is_zygote) as (command, inherited):
            child = _Contained(command, environment=environment, stderr=subprocess.PIPE, pass_fds=inherited)
        with child:
            yield Started(
                child,
                cpu_seconds=lambda: cpu_seconds(below(child.process.pid)),
                kill=child.kill_contained,
                memory_mb=lambda: memory_of(child.process.pid, limits),
            )

    @contextlib.contextmanager
    def _command(
        self, arguments: Sequence[str], mounts: Iterable[str], limits: Limits, user: str, *, is_zygote: bool = False
    ) -> Iterator[tuple[list[str], list[int]]]:
        """Yield the command that runs Python with these arguments, and the descriptors that it must inherit.

        A zygote runs no tested code, and needs the rights to build walls around what does.
        """
        with contextlib.ExitStack() as opened:
            options, change_user = _user_options(user, is_zygote)
            entry = f"{USER_NAME}:x:{user}:{user}:{USER_NAME}:/nonexistent:/usr/sbin/nologin\n".encode()
            files = (configuration(), entry) if is_zygote else (configuration(), entry, self._filter)
            inherited = [opened.enter_context(_readable(data)) for data in files]
            venv, passwd, *seccomp = map(str, inherited)
            folder = ("--size", str(limits.disk_mb * _MB), "--perms", "1777", "--tmpfs")
            command = [
                *(self._program, *options),
                *("--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"),
                *("--die-with-parent", "--new-session", "--as-pid-1", "--hostname", "sandbox"),
                *(word for number in seccomp for word in ("--seccomp", number)),
                *self._system,
                *mounts,
                *("--file", venv, CONFIGURATION, "--perms", "0644", "--file", passwd, "/etc/passwd"),
                # A shared mapping of /dev/zero would be memory that no limit covers.
                *("--proc", "/proc", "--dev", "/dev", "--dev-bind", "/dev/null", "/dev/zero"),
                *(*folder, "/tmp", *folder, WORK, "--chdir", WORK),
                # bwrap leaves both writable, without a limit on their size.
                *("--remount-ro", "/dev", "--remount-ro", "/"),
                *("--", *change_user, PYTHON, *PYTHON_OPTIONS, *arguments),
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


def _user_options(user: str, is_zygote: bool) -> tuple[Sequence[str], Sequence[str]]:
    """Return bwrap's options for the user of a run, and the command by which the run takes that user."""
    if os.geteuid() != 0:
        return _USER_NAMESPACE, ()
    needed = ZYGOTE_CAPABILITIES if is_zygote else _NEEDED_BY_SETPRIV
    options = ["--cap-drop", "ALL", *(word for name in needed for word in ("--cap-add", f"CAP_{name}"))]
    if is_zygote:  # whose jobs take that user
        return options, ()
    change = ["setpriv", "--reuid", user, "--regid", user, "--clear-groups", "--no-new-privs"]
    # A change of user clears the signal by which process 1 learns that bwrap is gone.
    change += ["--inh-caps=-all", "--bounding-set=-all", "--pdeathsig", "KILL", "--"]
    return options, change


def _send(child: Child, data: bytes) -> None:
    """Send data; a zygote that has ended does not read, and its end gives the reason."""
    with contextlib.suppress(BrokenPipeError, TimeoutError):
        child.send(data, time.monotonic() + START_S)


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
