"""The memory of a run in bubblewrap, which no cgroup limits: measured from outside."""

import contextlib
import functools
import re
import time
from pathlib import Path

from .base import Ended, Limits
from .child_sandbox import WATCH_S
from .processes import descendants, parents

#: Lines of /proc/PID/status and of /proc/PID/smaps_rollup about memory that does not hold files.
_OWN = re.compile(r"^Rss(?:Anon|Shmem):\s+(\d+) kB$", re.MULTILINE)
_SHARE = re.compile(r"^Pss_(?:Anon|Shmem):\s+(\d+) kB$", re.MULTILINE)


class MemoryWatch:
    """Called often, it looks at a run's memory from time to time, and says if the run must end."""

    def __init__(self, zygote: int, limits: Limits) -> None:
        self._zygote = zygote
        self._limit_mb = limits.memory_mb
        self._next_look = time.monotonic() + WATCH_S

    def __call__(self) -> Ended | None:
        if time.monotonic() < self._next_look:
            return None
        self._next_look = time.monotonic() + WATCH_S
        # What processes share counts once for each here. The share of each takes the kernel
        # milliseconds to compute, and is asked for only near the limit.
        if self._memory_mb("status", _OWN) <= self._limit_mb:
            return None
        if self._memory_mb("smaps_rollup", _SHARE) <= self._limit_mb:
            return None
        return Ended.OUT_OF_MEMORY

    def _memory_mb(self, file: str, lines: re.Pattern[str]) -> float:
        """Return the sum of these lines over all processes of the run."""
        total_kb = 0
        known = _parents_at(int(time.monotonic() / WATCH_S))
        for process in descendants(self._zygote, known):
            with contextlib.suppress(OSError):  # it has ended
                text = Path(f"/proc/{process}/{file}").read_text(encoding="utf-8", errors="replace")
                total_kb += sum(map(int, lines.findall(text)))
        return total_kb / 1024


@functools.lru_cache(maxsize=1)
def _parents_at(look: int) -> dict[int, int]:
    """Return `parents()` as all runs see them at one look: each process is a file to read."""
    return parents()
