"""Isolate each job of a zygote: namespaces, mounts, no rights, a filter of system calls.

This needs no root. An ordinary user's zygote enters a user namespace, in which it has the rights to
build walls; root's needs some capabilities, and each of its jobs becomes another user. Nothing has
to be cleaned up: when process 1 of the namespaces ends, the kernel ends every other process and
drops mounts, sockets, queues and shared memory.
"""

import contextlib
import ctypes
import os
import signal
import struct
import sys
from collections.abc import Callable
from functools import partial
from typing import NamedTuple, NoReturn

_NEWNS = 1 << 17
_NEWCGROUP = 1 << 25
_NEWIPC = 1 << 27
_NEWUSER = 1 << 28
_NEWPID = 1 << 29
_NEWNET = 1 << 30
_RDONLY = 1
_NOSUID = 2
_NODEV = 4
_NOEXEC = 8
_BIND = 1 << 12
_REC_PRIVATE = 1 << 14 | 1 << 18
_PDEATHSIG = 1
_SET_SECCOMP = 22
_CAPBSET_DROP = 24
_NO_NEW_PRIVS = 38
_FILTER = 2
#: The number of `mount_setattr`, the same on all architectures; and its arguments (Linux 5.12).
_MOUNT_SETATTR = 442
_AT_FDCWD = -100
_AT_RECURSIVE = 0x8000
_ATTR_RDONLY = 1
_CAPABILITIES = 64
_CAPABILITY_VERSION = 0x20080522
#: Folders that show the container or take files for it.
_COVERED = ("/sys", "/dev/shm", "/dev/mqueue")
#: Parts of /proc and /sys that show the whole machine: the engine's own list, and locks, by which
#: answers that run side by side could talk.
MASKED = """
/proc/acpi
/proc/asound
/proc/interrupts
/proc/kcore
/proc/keys
/proc/latency_stats
/proc/locks
/proc/sched_debug
/proc/scsi
/proc/timer_list
/proc/timer_stats
/sys/devices/virtual/powercap
/sys/firmware
""".split()
#: Runs a function in a new process and returns its number.
Fork = Callable[[Callable[[], object]], int]
#: The number of the user `nobody`.
NOBODY = 65534

_libc = ctypes.CDLL(None, use_errno=True)


class Walls(NamedTuple):
    """The walls of every job of a zygote."""

    program: bytes
    """The filter of system calls (seccomp.py)."""
    user: int
    """The user that a job of root's zygote becomes; another zygote's jobs keep theirs, under the
    name `nobody`."""
    disk_mb: int
    """Size of each of the two folders that a job can write to."""


def prepare(walls: Walls) -> Fork:
    """Take the rights to build walls, and try them; return the function that forks a job.

    An ordinary user goes on as process 1 of new namespaces.

    Raises:
        OSError: the machine refuses it.
        SystemExit: the machine refuses walls; a line on stderr says why.
    """
    if os.geteuid() != 0:
        _enter_user_namespace()
    _, status = os.waitpid(_fork(walls, lambda: None), 0)
    if status:
        sys.exit(1)
    return partial(_fork, walls)


def _enter_user_namespace() -> None:
    user = os.geteuid()
    group = os.getegid()
    _check(_libc.unshare(_NEWUSER | _NEWPID), "unshare (user namespaces)")
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"{NOBODY} {user} 1")
    _write("/proc/self/gid_map", f"{NOBODY} {group} 1")
    if child := os.fork():
        _, status = os.waitpid(child, 0)
        os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
    _check(_libc.unshare(_NEWNS), "unshare")
    _make_mounts_private()
    _mount_proc()


def _mount_proc() -> None:
    _mount("proc", "/proc", flags=_NOSUID | _NODEV | _NOEXEC)


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def _fork(walls: Walls, run: Callable[[], object]) -> int:
    """Fork a job behind walls; return its process."""
    _check(_libc.unshare(_NEWPID), "unshare")
    pid = os.fork()
    if not pid:
        run_and_exit(lambda: _build(walls), run)
    with open("/proc/self/ns/pid", "rb") as outside:  # the next child is again outside
        _check(_libc.setns(outside.fileno(), _NEWPID), "setns")
    return pid


def run_and_exit(*steps: Callable[[], object]) -> NoReturn:
    """Run functions, and end this process; what they raise is a line on stderr."""
    try:
        for step in steps:
            step()
        os._exit(0)
    except BaseException as error:
        print(f"zygote: {error}", file=sys.stderr, flush=True)
    finally:
        os._exit(1)


def _build(walls: Walls) -> None:
    """Build the other walls around this process, and so around all that it starts."""
    _check(_libc.unshare(_NEWNS | _NEWNET | _NEWIPC | _NEWCGROUP), "unshare")
    _make_mounts_private()
    _make_mounts_read_only()
    _mount_own(walls.disk_mb)
    for path in (*_COVERED, *MASKED):
        _cover(path)
    _give_up_rights(walls.user)
    restrict(walls.program)


def _mount_own(disk_mb: int) -> None:
    """Mount what no other job sees."""
    _mount_proc()
    terminals = "newinstance,ptmxmode=0666,mode=620,max=64"
    _mount("devpts", "/dev/pts", terminals, flags=_NOSUID | _NOEXEC)
    for path in ("/tmp", "/work"):
        _mount("tmpfs", path, f"size={disk_mb}m,mode=1777", flags=_NOSUID | _NODEV)


def _make_mounts_private() -> None:
    _mount(None, "/", flags=_REC_PRIVATE)


def _make_mounts_read_only() -> None:
    # Recursive, because otherwise the times of devices could be set.
    attributes = (ctypes.c_uint64 * 4)(_ATTR_RDONLY)
    size = ctypes.c_size_t(ctypes.sizeof(attributes))
    result = _libc.syscall(_MOUNT_SETATTR, _AT_FDCWD, b"/", _AT_RECURSIVE, attributes, size)
    _check(result, "mount_setattr")


def _cover(path: str) -> None:
    if os.path.isdir(path):
        _mount("tmpfs", path, "size=4k", flags=_RDONLY | _NOSUID | _NODEV | _NOEXEC)
    elif os.path.exists(path):
        _mount(None, path, flags=_BIND, source="/dev/null")


def _give_up_rights(user: int) -> None:
    for number in range(_CAPABILITIES):
        with contextlib.suppress(OSError):  # the kernel has fewer
            prctl(_CAPBSET_DROP, number)
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    head = struct.pack("Ii", _CAPABILITY_VERSION, 0)
    _check(_libc.capset(head, bytes(24)), "capset")
    # After the change of user, which clears it: process 1 ends with its parent.
    prctl(_PDEATHSIG, signal.SIGKILL)


def restrict(program: bytes) -> None:
    """Apply a filter of system calls to this process and to all that it starts."""
    prctl(_NO_NEW_PRIVS, 1)
    instructions = ctypes.create_string_buffer(program, len(program))
    # struct sock_fprog: the number of instructions, and where they are.
    header = struct.pack("HP", len(program) // 8, ctypes.addressof(instructions))
    _check(_libc.prctl(_SET_SECCOMP, _FILTER, header), "seccomp")


def prctl(option: int, value: int) -> None:
    """Set an option of this process (Linux)."""
    zero = ctypes.c_ulong(0)
    _check(_libc.prctl(option, ctypes.c_ulong(value), zero, zero, zero), "prctl")


def _mount(kind: str | None, path: str, options: str = "", *, flags: int, source: str = "") -> None:
    name = source or kind or "none"
    result = _libc.mount(
        name.encode(),
        path.encode(),
        kind.encode() if kind else None,
        ctypes.c_ulong(flags),
        options.encode() or None,
    )
    _check(result, f"mount {path}")


def _check(result: int, what: str) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
