"""The processes that a run started: find them, count their CPU time, kill them.

They are read from /proc, because the verifier inside another harness's container has the standard
library alone; systems without /proc (macOS) need psutil, which the package installs.
"""

import contextlib
import os
import signal
import time
from collections.abc import Iterable
from pathlib import Path

_PROC = Path("/proc")
#: Positions in /proc/PID/stat after the name: state, parent, and CPU times, those of children that
#: were waited for included.
_STATE = 0
_PARENT = 1
_CPU_TIMES = slice(11, 15)
_ZOMBIE = b"Z"


def parents() -> dict[int, int]:
    """Return the parent of each process of this machine."""
    if not _PROC.is_dir():
        import psutil

        return {process.pid: process.ppid() for process in psutil.process_iter()}
    parent_of = {}
    for name in os.listdir(_PROC):
        if name.isdigit():
            with contextlib.suppress(OSError):  # it has ended
                parent_of[int(name)] = int(_stat(int(name))[_PARENT])
    return parent_of


def descendants(pid: int, parent_of: dict[int, int] | None = None) -> set[int]:
    """Return the processes that a process started, directly or indirectly.

    Args:
        parent_of: `parents()`, if known.
    """
    children: dict[int, list[int]] = {}
    for process, parent in (parent_of or parents()).items():
        children.setdefault(parent, []).append(process)
    started: set[int] = set()
    waiting = [pid]
    while waiting:
        for process in children.get(waiting.pop(), ()):
            if process not in started:
                started.add(process)
                waiting.append(process)
    return started


def cpu_seconds(processes: Iterable[int]) -> float:
    """Return the CPU seconds of these processes and of those that they have waited for."""
    if not _PROC.is_dir():
        import psutil

        total_s = 0.0
        for process in processes:
            with contextlib.suppress(psutil.NoSuchProcess):
                total_s += sum(psutil.Process(process).cpu_times()[:4])
        return total_s
    ticks = 0
    for process in processes:
        with contextlib.suppress(OSError):  # it has ended
            ticks += sum(map(int, _stat(process)[_CPU_TIMES]))
    return ticks / os.sysconf("SC_CLK_TCK")


def kill_descendants(pid: int, time_s: float) -> None:
    """Kill all that a process started, again until nothing is left or the time is up.

    They may fork while they are being killed.
    """
    deadline = time.monotonic() + time_s
    while running := [process for process in descendants(pid) if _is_running(process)]:
        for process in running:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)
        if time.monotonic() > deadline:
            return
        time.sleep(0.001)


def has_processes(user: int) -> bool:
    """Return whether a process of a user runs, on Linux."""
    for path in _PROC.glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended
            if path.stat().st_uid == user and _is_running(int(path.name)):
                return True
    return False


def _is_running(process: int) -> bool:
    """Return whether a process runs; one that has ended may still wait for its parent."""
    if not _PROC.is_dir():
        import psutil

        status = psutil.Process(process).status() if psutil.pid_exists(process) else "gone"
        return status not in ("gone", psutil.STATUS_ZOMBIE)
    try:
        return _stat(process)[_STATE] != _ZOMBIE
    except OSError:
        return False


def _stat(process: int) -> list[bytes]:
    """Return the fields of /proc/PID/stat after the name; OSError if the process has ended."""
    # pathlib takes four times as long, and machines have hundreds of processes.
    with open(f"/proc/{process}/stat", "rb", 0) as file:
        return file.read().rpartition(b")")[2].split()
