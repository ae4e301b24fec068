"""Counters of the container's cgroup: CPU time, and processes killed for lack of memory.

Their files are opened before a wall hides them. Tested code must not inherit them (`close`).
"""

import os
import re

_FILES = ("memory/memory.oom_control", "memory.events", "cpuacct/cpuacct.usage", "cpu.stat")
_paths = [f"/sys/fs/cgroup/{name}" for name in _FILES]
_open = [os.open(path, os.O_RDONLY) for path in _paths if os.path.exists(path)]


def files() -> list[int]:
    """Return the descriptors of the files."""
    return list(_open)


def close() -> None:
    """Close the files; from now on nothing is counted."""
    while _open:
        os.close(_open.pop())


def oom_kills() -> int:
    """Return how many processes the kernel has killed for lack of memory; 0 if unknown."""
    return _number(rb"^oom_kill (\d+)$") or 0


def cpu_nanoseconds() -> int | None:
    """Return the CPU time of the cgroup so far; None if it is unknown."""
    microseconds = _number(rb"^usage_usec (\d+)$")
    return _number(rb"\A(\d+)$") if microseconds is None else 1000 * microseconds


def _number(pattern: bytes) -> int | None:
    """Return the first number of this pattern in the files."""
    for file in _open:
        if match := re.search(pattern, os.pread(file, 4096, 0), re.MULTILINE):
            return int(match[1])
    return None
