"""Decide when a run has used up its time: by CPU time, because a busy machine makes the clock run for nothing.

The rule, for all sandboxes:

1. A run may **use** `Limits.time_s` seconds of CPU time, all of its processes together. After that its time is up.
2. A run that leaves CPU time unused which the machine offers **sleeps**, and may do so for as long again. What the
   machine offers is measured by a probe: a process of ours that spins for a moment beside the run, outside of it, with
   the same claim on the machine as the run, and tells what share of a processor it got.
3. A run that has neither used nor slept through its time within `wall_limit` seconds was kept from running. That is an
   `OverloadError`: no verdict follows. `turns` tries the run again alone, without other runs of ours beside it.

No code can choose the third end. Each second that the machine offers counts as used or as slept, whatever the code
does, so one of the two limits is met before the machine has offered twice `time_s`. The third end therefore means that
it offered less than that in ten times `time_s` or more: less than a fifth of a processor. What a run can do to the
probe does not change this: it is held to one processor, so that the probe has another, and on a machine with a single
processor the probe still gets half of it. Other answers of the same user, which might burn the machine's time for this
one, do not run when it is tried alone. And a machine that is overloaded all the same says nothing about any answer.

So a run that does nothing on an idle machine ends soon after `time_s`, as it would by the clock.
"""

import time
from collections.abc import Callable

from lmrbench_data.base.errors import OverloadError

from .base import READY, START_S, Ended, Limits

#: Seconds by the clock that a run has at least, and how many times its CPU seconds, until rule 3 ends it.
WALL_LEAST_S, WALL_FACTOR = 600.0, 10.0
#: Seconds between two looks at a run. Most runs end before the first.
MOST_S, LEAST_S = 10.0, 1.0
#: Looks within a limit, so that a short limit is kept too; the part of the time between them for which the probe spins,
#: and how long it spins at least: less would be chance.
LOOKS, PROBE_PART, PROBE_LEAST_S = 4, 0.1, 0.25
#: A run that gets this much of a processor does not sleep, and the probe is spared.
BUSY = 0.8
#: A run that gets less was slowed by the machine.
SLOWED = 0.5


def wall_limit(time_s: float) -> float:
    """Seconds by the clock that a run with this limit of CPU time may take."""
    return max(WALL_LEAST_S, WALL_FACTOR * time_s)


class Meter:
    """Measures one run: an allowance for the start, then the rule from the runner's first word on."""

    def __init__(self, limits: Limits, used: Callable[[], float], offered: Callable[[float], float]) -> None:
        """Start measuring.

        Args:
            used: CPU seconds of the run and its start so far, read from outside of it; 0 if nobody can tell, and then
                all that the machine offers counts as slept.
            offered: spins beside the run for some seconds and returns the share of a processor that it got.
        """
        self._limits, self._used, self._offered = limits, used, offered
        self._every = max(LEAST_S, min(MOST_S, limits.time_s / LOOKS))
        self._since = self._last = time.monotonic()
        self._next = self._since + START_S
        self._ready = False
        self._start_cpu = self._cpu = self._slept = self._waited = 0.0
        self._looked = False
        #: At the last look; unknown at first, and then nothing counts as slept.
        self._share = 0.0
        self.slowed = False

    def hear(self, stdout: bytearray) -> None:
        """Look for the first word in what has come so far."""
        if not self._ready and (found := READY.match(stdout)):
            self._ready = True
            self._start_cpu = float(found[1] or 0)
            self._since = self._last = time.monotonic()
            self._next = self._since + min(self._every, self._limits.time_s)

    def elapsed(self) -> float:
        """Seconds by the clock since the first word, or since the start."""
        return time.monotonic() - self._since

    @property
    def cpu(self) -> float | None:
        """CPU seconds since the first word, as of the last look; None if there was none."""
        return self._cpu if self._looked else None

    def rest(self) -> float:
        """Seconds until the next look; not positive when it is due."""
        return self._next - time.monotonic()

    def look(self) -> Ended | None:
        """How the run has to end now; None if it may go on.

        Raises:
            OverloadError: the machine has no time for it.
            InfraError: nothing can be measured.
        """
        if not self._ready:
            raise OverloadError(f"the runner did not start: nothing was heard of it in {START_S:.0f} s")
        used = max(self._cpu, self._used() - self._start_cpu)
        now = time.monotonic()
        passed, delta = now - self._last, used - self._cpu
        share = min(1.0, delta / passed) if passed > 0 else 0.0
        if share < BUSY and used < self._limits.time_s:
            share = self._offered(max(PROBE_LEAST_S, self._every * PROBE_PART))
        # Of two measurements the smaller: what is not certain does not count against the run. And if the harness
        # itself was stopped meanwhile, nobody measured.
        counted = min(passed, 2 * self._every)
        self._slept += max(0.0, min(self._share, share) * counted - delta)
        self._waited += counted
        self.slowed = self.slowed or share < SLOWED
        self._cpu, self._share, self._last, self._looked = used, share, now, True
        if max(used, self._slept) >= self._limits.time_s:
            return Ended.TIME_LIMIT
        if self._waited >= wall_limit(self._limits.time_s):
            raise OverloadError(
                f"the machine is overloaded: the run got {used:.0f} s of CPU time in {self.elapsed():.0f} s"
            )
        self._next = time.monotonic() + min(self._every, max(LEAST_S / 4, (self._limits.time_s - used) / 2))
        return None
