"""The share of the machine that this process may use: cores, memory, disk."""

import contextlib
import os
from pathlib import Path
from typing import NamedTuple

_CGROUPS = Path("/sys/fs/cgroup")


class Disk(NamedTuple):
    """The file system of a folder."""

    device: int
    free_bytes: int
    free_files: int | None
    """Files that can still be created; None if the file system has no such limit."""


def cores() -> int:
    """Return the number of cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def available_memory() -> int | None:
    """Return the bytes of memory that new processes may take, within the limits of a batch system; None if unknown."""
    found = [*_system_memory(), *_cgroup_memory()]
    return min(found) if found else None


def disk_of(folder: Path) -> Disk:
    """Return the file system that holds a folder, or would hold it once it is created.

    Raises:
        OSError: the file system does not answer.
    """
    folder = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    facts = os.statvfs(folder)
    return Disk(os.stat(folder).st_dev, facts.f_bavail * facts.f_frsize, facts.f_favail if facts.f_files else None)


def _system_memory() -> list[int]:
    with contextlib.suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        line = next(line for line in lines if line.startswith("MemAvailable:"))
        return [int(line.split()[1]) * 1024]
    with contextlib.suppress(OSError, ValueError):  # macOS
        return [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    return []


def _cgroup_memory() -> list[int]:
    """Return the memory left in each control group above this process that limits it (versions 1 and 2)."""
    left = []
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers == "":
                root, most, used = _CGROUPS, "memory.max", "memory.current"
            elif "memory" in controllers.split(","):
                root, most, used = _CGROUPS / "memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
            else:
                continue
            group = root / path.lstrip("/")
            for folder in (group, *group.parents):
                if not folder.is_relative_to(root):
                    break
                with contextlib.suppress(OSError, ValueError):  # the root has no limit, and `max` is not a number
                    limit, taken = (int((folder / name).read_text(encoding="ascii")) for name in (most, used))
                    left.append(max(0, limit - taken + _idle_cache(folder / "memory.stat")))
    return left


def _idle_cache(path: Path) -> int:
    """Return the bytes of a control group that hold copies of files and are given up on demand."""
    facts = dict(line.split() for line in path.read_text(encoding="ascii").splitlines())
    return int(facts.get("total_inactive_file", facts.get("inactive_file", 0)))
