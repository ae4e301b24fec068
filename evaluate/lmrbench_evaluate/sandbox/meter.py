"""Collect the output of a run, and decide when it has used up its time.

CPU time decides, because on a busy machine the clock says little.

The rule for all sandboxes:

1. A run may **use** `Limits.time_s` seconds of CPU time, all of its processes together. Then its time is up.
2. A run that leaves available CPU time unused **sleeps**, and may sleep for another `time_s` seconds. A probe measures
   the available time: a process of ours outside the run, with the same priority, spins for a moment and reports the
   share of a processor that it got.
3. A run that has neither used nor slept through its time within `wall_limit` seconds was kept from running. That is an
   `OverloadError`, and no verdict follows. `exclusive_retry` repeats the run without other runs of ours beside it.

No code can choose the third ending. Each second that the machine offers counts as used or slept, whatever the code
does, so one of the first two limits is reached before the machine has offered twice `time_s`. The third ending
therefore means that the machine offered less than that in at least ten times `time_s`: less than a fifth of a
processor. The run cannot change this by disturbing the probe: the run is held to one processor, which leaves another
for the probe, and on a machine with a single processor the probe still gets half of it. Other answers of the same user,
which might consume the machine's time, do not run during the retry. A machine that is overloaded even then says nothing
about any answer.

A run that does nothing on an idle machine ends soon after `time_s`, as it would by the clock.
"""

import re
import time
from collections.abc import Callable, Iterable

from lmrbench_data.base.errors import InfraError, OverloadError

from .base import START_S, Ended, Limits, Outcome

#: The first line of the runner, sent before any tested code runs, with the CPU seconds that its own start took.
_READY = re.compile(rb"ready(?: (\d{1,6}\.\d{3}))?\n")
#: The last line of the runner: the CPU seconds of all cases. It is shown to users and decides nothing.
_USED = re.compile(rb"used (\d{1,6}\.\d{3})\n\Z")
#: Rule 3 ends a run after this many wall-clock seconds, or this multiple of its CPU seconds if that is longer.
WALL_LEAST_S, WALL_FACTOR = 600.0, 10.0
#: Seconds between two checks of a run. Most runs end before the first.
MOST_S, LEAST_S = 10.0, 1.0
#: Number of checks within a limit, so that short limits are kept too; the part of the time between them for which the
#: probe spins, and the least time for which its result is more than chance.
CHECKS, PROBE_PART, PROBE_LEAST_S = 4, 0.1, 0.25
#: A run that gets this share of a processor does not sleep, and needs no probe.
BUSY = 0.8


def wall_limit(time_s: float) -> float:
    """Return the wall-clock seconds that a run with this limit of CPU time may take."""
    return max(WALL_LEAST_S, WALL_FACTOR * time_s)


class Meter:
    """Measures one run: an allowance for the start, then the rule from the runner's first line on."""

    def __init__(
        self, limits: Limits, used: Callable[[], float], offered: Callable[[float], float]
    ) -> None:
        """Start measuring.

        Args:
            used: returns the CPU seconds of the run and its start so far, measured from outside; 0 if they are unknown,
                and then all available time counts as slept.
            offered: spins beside the run for some seconds and returns the share of a processor that it got.
        """
        self._limits, self._used, self._offered = limits, used, offered
        self._every = max(LEAST_S, min(MOST_S, limits.time_s / CHECKS))
        self._since = self._last = time.monotonic()
        self._next = self._since + START_S
        self._ready = False
        self._start_cpu = self._cpu = self._slept = self._waited = 0.0
        self._checked = False
        #: The share at the last check; unknown at first, when nothing counts as slept.
        self._share = 0.0

    def feed(self, stdout: bytearray) -> None:
        """Look for the runner's first line in the output so far."""
        if not self._ready and (found := _READY.match(stdout)):
            self._ready = True
            self._start_cpu = float(found[1] or 0)
            self._since = self._last = time.monotonic()
            self._next = self._since + min(self._every, self._limits.time_s)

    def elapsed(self) -> float:
        """Return the wall-clock seconds since the first line, or since the start."""
        return time.monotonic() - self._since

    @property
    def cpu(self) -> float | None:
        """CPU seconds from the first line to the last check; None before the first check."""
        return self._cpu if self._checked else None

    def rest(self) -> float:
        """Return the seconds until the next check; not positive when it is due."""
        return self._next - time.monotonic()

    def check(self) -> Ended | None:
        """Return how the run must end now; None if it may continue.

        Raises:
            OverloadError: the machine has no time for the run.
            InfraError: the measurement failed.
        """
        if not self._ready:
            raise OverloadError(f"the runner did not start within {START_S:.0f} s")
        used = max(self._cpu, self._used() - self._start_cpu)
        now = time.monotonic()
        passed, delta = now - self._last, used - self._cpu
        share = min(1.0, delta / passed) if passed > 0 else 0.0
        if share < BUSY and used < self._limits.time_s:
            share = self._offered(max(PROBE_LEAST_S, self._every * PROBE_PART))
        # The smaller of two measurements: uncertain time does not count against the run, nor does time in which the
        # harness itself was stopped.
        counted = min(passed, 2 * self._every)
        self._slept += max(0.0, min(self._share, share) * counted - delta)
        self._waited += counted
        self._cpu, self._share, self._last, self._checked = used, share, now, True
        if max(used, self._slept) >= self._limits.time_s:
            return Ended.TIME_LIMIT
        if self._waited >= wall_limit(self._limits.time_s):
            raise OverloadError(
                f"the machine is overloaded: the run got {used:.0f} s of CPU time in {self.elapsed():.0f} s"
            )
        self._next = time.monotonic() + min(
            self._every, max(LEAST_S / 4, (self._limits.time_s - used) / 2)
        )
        return None


def collect_output(
    receive: Callable[[float], Iterable[tuple[bool, bytes]] | None],
    meter: Meter,
    limits: Limits,
    watch: Callable[[], Ended | None] = lambda: None,
) -> tuple[bytearray, str, Ended]:
    """Collect stdout and the log until both end or the run reaches a limit.

    Args:
        receive: waits for at most this many seconds; returns (is stdout, data) pairs, none if nothing arrived, and None
            at the end.
        watch: called after each wait; returns how the run must end because of a limit that only the sandbox knows.

    Raises:
        OverloadError, InfraError: as `Meter.check`.
    """
    stdout, log, ended = bytearray(), bytearray(), None
    while ended is None:
        rest = meter.rest()
        if rest <= 0:
            ended = meter.check()
            continue
        pieces = receive(rest)
        if pieces is None:
            ended = Ended.EXITED
            break
        for is_stdout, data in pieces:
            if is_stdout:
                stdout += data
            else:
                log += data[: max(0, limits.log_kb * 1024 - len(log))]
        meter.feed(stdout)
        ended = Ended.OUTPUT_LIMIT if len(stdout) > limits.output_mb * 2**20 else watch()
    return stdout, log.decode("utf-8", "replace"), ended


def make_outcome(
    stdout: bytearray, log: str, ended: Ended, duration_s: float, cpu_s: float | None, problem: str
) -> Outcome:
    """Return the outcome of a run; its stdout is what the runner sent between its first line and its last.

    Args:
        cpu_s: measured CPU time, for a runner that did not state it at its end.
        problem: the reason if the runner did not start.

    Raises:
        InfraError: the first line is missing, so no tested code has run and nothing can be its fault. Memory is an
            exception: the limit may be too low for the libraries that the tested code names.
    """
    if first := _READY.match(stdout):
        del stdout[: first.end()]
        if last := _USED.search(stdout, max(0, len(stdout) - 32)):
            cpu_s = float(last[1]) if ended is Ended.EXITED else cpu_s
            del stdout[-len(last[0]) :]
    elif ended is not Ended.OUT_OF_MEMORY:
        raise InfraError(f"the runner did not start ({problem})")
    return Outcome(bytes(stdout), log, ended, duration_s, cpu_s)
