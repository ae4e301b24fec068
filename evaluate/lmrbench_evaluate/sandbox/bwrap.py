"""Run workspaces in bubblewrap: walls without a daemon, for machines without a container engine.

A zygote has process, IPC, mount, host name and network namespaces, a read-only system and no
network; it builds walls around each answer (`runner/walls.py`). Started by an ordinary user, it has
a user namespace; started by root, its answers have a user of their own. Memory is measured from
outside, not limited by the kernel, and packages are those of this machine: results say `bwrap`, and
no leaderboard accepts them.

The zygote is process 1: when it ends, the kernel ends all other processes. It ends with bwrap, and
bwrap ends with the harness.
"""

import contextlib
import os
import platform
import re
import secrets
import shutil
import tempfile
from collections.abc import Callable, Hashable, Iterator, Mapping
from pathlib import Path
from typing import IO

from lmrbench_data.base.errors import InfraError

from ..runner import zygote_arguments, zygote_program
from ..runner.seccomp import filter_program
from ..runner.walls import NOBODY
from .base import ENVIRONMENT, PYTHON_OPTIONS, USER_NAME, Ended, Limits
from .bwrap_memory import MemoryWatch
from .bwrap_view import (
    CONFIGURATION,
    PYTHON,
    configuration,
    import_names,
    package_mounts,
    system_mounts,
)
from .child_sandbox import ChildSandbox, ChildZygote, ZygoteChild, find_environment
from .zygote import OWN_PROCESSES, WORK, GoneError, Zygote
from .zygotes import SHARED, Isolation

#: Within a user namespace, the limit of processes counts only those of the run.
_USER_NAMESPACE = f"--unshare-user --uid {NOBODY} --gid {NOBODY} --cap-drop ALL".split()
#: The first kernel that counts processes by user namespace.
_KERNEL = (5, 14)
#: Each of root's runs gets a random user of this many, without processes: the kernel counts
#: processes by user.
_FIRST_USER = 1_500_000_000
_USERS = 2**24
#: What root's zygotes need to build walls; those of an ordinary user have no capability.
_CAPABILITIES = """
--cap-drop ALL
--cap-add CAP_SYS_ADMIN --cap-add CAP_NET_ADMIN --cap-add CAP_KILL
--cap-add CAP_SETUID --cap-add CAP_SETGID --cap-add CAP_SETPCAP
""".split()
_NAMESPACES = """
--unshare-ipc --unshare-pid --unshare-net --unshare-uts --unshare-cgroup-try
--die-with-parent --new-session --as-pid-1 --hostname sandbox
""".split()
#: A shared mapping of /dev/zero would be memory that no limit covers.
_DEVICES = "--proc /proc --dev /dev --dev-bind /dev/null /dev/zero".split()
#: bwrap leaves both writable, without a limit on their size.
_READ_ONLY = ["--remount-ro", "/dev", "--remount-ro", "/"]
_ENVIRONMENT = {**ENVIRONMENT, "HOME": WORK, "PATH": "/python/bin:/usr/bin:/bin"}


class BwrapSandbox(ChildSandbox):
    """The sandboxed zygotes of one harness process."""

    name = "bwrap"

    def __init__(self, benchmark: Path | None = None, isolation: Isolation = SHARED) -> None:
        """Check with a zygote that this user may use bubblewrap here; InfraError if not."""
        super().__init__(benchmark, isolation)
        program = shutil.which("bwrap")
        if program is None:
            raise InfraError("bubblewrap is not installed (Debian: `apt-get install bubblewrap`)")
        if os.geteuid() != 0 and _kernel() < _KERNEL:
            needed = f"Linux {_KERNEL[0]}.{_KERNEL[1]}"
            raise InfraError(f"bubblewrap needs {needed} here, but this is {platform.release()}")
        try:
            filter_program()
        except OSError as error:
            raise InfraError(str(error)) from error
        rights = _CAPABILITIES if os.geteuid() == 0 else _USER_NAMESPACE
        self._options = [program, *rights, *_NAMESPACES, *system_mounts(benchmark)]
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
        """Check that this Python has the environment's packages; zygotes report broken ones."""
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
        user = NOBODY if os.geteuid() != 0 else _FIRST_USER + secrets.randbelow(_USERS)
        walls = {"user": user, "disk_mb": limits.disk_mb}
        program = zygote_program(walls=walls, required=self._required.get(image, ()))
        with _readable(configuration()) as venv, _readable(_user_entry(user)) as passwd:
            files = (venv.fileno(), passwd.fileno())
            command = [
                *self._options,
                *self._packages.get(image, ()),
                *("--file", str(venv.fileno()), CONFIGURATION),
                *("--perms", "0644", "--file", str(passwd.fileno()), "/etc/passwd"),
                *_writable_parts(limits),
                *("--", PYTHON, *PYTHON_OPTIONS, *zygote_arguments(program)),
            ]
            child = ZygoteChild(command, environment=_ENVIRONMENT, pass_fds=files)
        with self.running(child):
            zygote = _BwrapZygote(child)
            zygote.start(program)
            yield zygote


class _BwrapZygote(ChildZygote):
    """A zygote in bubblewrap, whose jobs are limited in memory from outside."""

    def watch(self, limits: Limits) -> Callable[[], Ended | None]:
        return MemoryWatch(self.child.process.pid, limits)

    def rlimits(self, limits: Limits) -> Mapping[str, int]:
        # The kernel counts an ordinary user's zygote with its job.
        more = OWN_PROCESSES if os.geteuid() != 0 else 0
        return {**super().rlimits(limits), "RLIMIT_NPROC": limits.processes + more}


def _writable_parts(limits: Limits) -> list[str]:
    """Return the options for devices and the two folders in memory; the rest is read-only."""
    folder = ["--size", str(limits.disk_mb * 2**20), "--perms", "1777", "--tmpfs"]
    folders = [*folder, "/tmp", *folder, WORK, "--chdir", WORK]
    return [*_DEVICES, *folders, *_READ_ONLY]


def _user_entry(user: int) -> bytes:
    """Return the line of /etc/passwd about the user of a run."""
    return f"{USER_NAME}:x:{user}:{user}:{USER_NAME}:/nonexistent:/usr/sbin/nologin\n".encode()


def _readable(data: bytes) -> IO[bytes]:
    """Return a file from which another process can read a little data."""
    file = tempfile.TemporaryFile()  # noqa: SIM115 (the caller closes it)
    file.write(data)
    file.seek(0)
    return file


def _kernel() -> tuple[int, int]:
    version = re.match(r"(\d+)\.(\d+)", platform.release())
    return (int(version[1]), int(version[2])) if version else (0, 0)
