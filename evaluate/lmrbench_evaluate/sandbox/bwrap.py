"""Run workspaces in bubblewrap: walls without a daemon, for machines that have no container engine.

A run has process, IPC, mount, host name and network namespaces of its own, no network, no capabilities, a read-only
system, small work folders in memory, and a filter of system calls. Started by an ordinary user, it has a user
namespace; started by root, a user of its own. Memory is measured from outside, not limited by the kernel, and packages
are those of this machine: results say `bwrap`, and no leaderboard accepts them.

The runner is process 1: signals from tested code do not reach it, and when it ends, the kernel ends all other
processes. It ends with bwrap, and bwrap ends with the harness.
"""

import contextlib
import os
import platform
import re
import secrets
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from lmrbench_data.base.child import Child
from lmrbench_data.base.errors import InfraError

from ..runner import source
from .base import ENVIRONMENT, PYTHON_OPTIONS, START_S, USER_NAME, Limits
from .bwrap_view import CONFIGURATION, PYTHON, configuration, import_names, package_mounts, system_mounts
from .child_sandbox import ChildSandbox, Started, cpu_seconds, find_environment, rlimits, stat_fields
from .seccomp import filter_program

WORK = "/work"
#: The user inside a user namespace; there, the limit of processes counts only those of the run.
_USER = "65534"
_USER_NAMESPACE = ("--unshare-user", "--uid", _USER, "--gid", _USER, "--cap-drop", "ALL")
#: The first kernel that counts processes by user namespace.
_KERNEL = (5, 14)
#: Each of root's runs gets a random user of this many, without processes: the kernel counts processes by user.
_FIRST_USER, _USERS = 1_500_000_000, 2**24
_NEEDED_BY_SETPRIV = ("CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP")
_ENVIRONMENT = {**ENVIRONMENT, "PATH": "/python/bin:/usr/bin:/bin"}
#: Seconds that the kernel may take to end all processes of a run.
_END_S = 10.0
_MB = 2**20


class BwrapSandbox(ChildSandbox):
    """The sandboxed child processes of one harness process."""

    name = "bwrap"

    def __init__(self, benchmark: Path | None = None) -> None:
        """Check with an empty program that bubblewrap works on this machine.

        Args:
            benchmark: a folder of tasks whose environments are known in addition to the installed ones.

        Raises:
            InfraError: it is not installed, or this user may not use it.
        """
        super().__init__(benchmark)
        program = shutil.which("bwrap")
        if program is None:
            raise InfraError("bubblewrap is not installed (Debian: `apt-get install bubblewrap`)")
        if os.geteuid() != 0 and _kernel() < _KERNEL:
            raise InfraError(f"bubblewrap needs Linux {_KERNEL[0]}.{_KERNEL[1]} here, but this is {platform.release()}")
        self._program = program
        self._filter = filter_program()
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
        with self._command(["-c", code], mounts, Limits(START_S, 4096)) as (command, inherited):
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
    def _start(self, image: str, size: int, limits: Limits) -> Iterator[Started]:
        mounts = self._packages.get(image, ())
        code = ["-c", source("bootstrap.py"), str(size), WORK, rlimits(limits, RLIMIT_NPROC=limits.processes)]
        with self._command(code, mounts, limits) as (command, inherited):
            child = _Contained(command, environment=_ENVIRONMENT, stderr=subprocess.PIPE, pass_fds=inherited)
        with child:
            yield Started(
                child,
                cpu_seconds=lambda: cpu_seconds(_below(child.process.pid)),
                kill=child.kill_contained,
                memory_mb=lambda: sum(map(_memory_mb, _below(child.process.pid))),
            )

    @contextlib.contextmanager
    def _command(self, code: list[str], mounts: Iterable[str], limits: Limits) -> Iterator[tuple[list[str], list[int]]]:
        """Yield the command that runs Python with these arguments, and the descriptors that it must inherit."""
        with contextlib.ExitStack() as opened:
            number = _USER if os.geteuid() != 0 else str(_FIRST_USER + secrets.randbelow(_USERS))
            user, change_user = _user_options(number)
            entry = f"{USER_NAME}:x:{number}:{number}:{USER_NAME}:/nonexistent:/usr/sbin/nologin\n".encode()
            inherited = [opened.enter_context(_readable(data)) for data in (self._filter, configuration(), entry)]
            seccomp, venv, passwd = map(str, inherited)
            folder = ("--size", str(limits.disk_mb * _MB), "--perms", "1777", "--tmpfs")
            command = [
                *(self._program, *user),
                *("--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"),
                *("--die-with-parent", "--new-session", "--as-pid-1", "--hostname", "sandbox"),
                *("--seccomp", seccomp),
                *self._system,
                *mounts,
                *("--file", venv, CONFIGURATION, "--perms", "0644", "--file", passwd, "/etc/passwd"),
                # A shared mapping of /dev/zero would be memory that no limit covers.
                *("--proc", "/proc", "--dev", "/dev", "--dev-bind", "/dev/null", "/dev/zero"),
                *(*folder, "/tmp", *folder, WORK, "--chdir", WORK),
                # bwrap leaves both writable, without a limit on their size.
                *("--remount-ro", "/dev", "--remount-ro", "/"),
                *("--", *change_user, PYTHON, *PYTHON_OPTIONS, *code),
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
            for process, parent in _parents().items():
                if parent == self.process.pid:
                    with contextlib.suppress(OSError):
                        os.kill(process, signal.SIGKILL)


def _user_options(user: str) -> tuple[Sequence[str], Sequence[str]]:
    """Return bwrap's options for the user of a run, and the command by which the run takes that user."""
    if os.geteuid() != 0:
        return _USER_NAMESPACE, ()
    kept = [word for capability in _NEEDED_BY_SETPRIV for word in ("--cap-add", capability)]
    change = ["setpriv", "--reuid", user, "--regid", user, "--clear-groups", "--no-new-privs"]
    # A change of user clears the signal by which process 1 learns that bwrap is gone.
    change += ["--inh-caps=-all", "--bounding-set=-all", "--pdeathsig", "KILL", "--"]
    return ["--cap-drop", "ALL", *kept], change


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


def _parents() -> dict[int, int]:
    """Return the parent of every process of this machine."""
    parents = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError):
                parents[int(name)] = int(stat_fields(int(name))[1])
    return parents


def _below(bwrap: int) -> set[int]:
    """Return the processes of a run: all that descend from bwrap, because process 1 adopts every orphan."""
    children: dict[int, list[int]] = {}
    for process, parent in _parents().items():
        children.setdefault(parent, []).append(process)
    found, waiting = set[int](), [bwrap]
    while waiting:
        for process in children.get(waiting.pop(), ()):
            if process not in found:
                found.add(process)
                waiting.append(process)
    return found


def _memory_mb(process: int) -> float:
    """Return a process's share of memory that does not hold files; 0 if the process is gone."""
    try:
        text = Path(f"/proc/{process}/smaps_rollup").read_text(encoding="ascii")
    except OSError:
        return 0.0
    return sum(int(size) for size in re.findall(r"^Pss_(?:Anon|Shmem): +(\d+) kB$", text, re.MULTILINE)) / 1024
