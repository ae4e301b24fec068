"""Collect the output of a run, and decide when it has used up its time.

CPU time decides, because on a busy machine the clock says little. The rule for all sandboxes:

1. A run may **use** `Limits.time_s` seconds of CPU time, all of its processes together.
2. A run that leaves available CPU time unused **sleeps**, and may sleep for another `time_s`
   seconds. A probe measures the available time: a process of ours outside the run, with the same
   priority, spins for a moment and reports the share of a processor that it got.
3. A run that has neither used nor slept through its time within `wall_limit` seconds was kept from
   running. That is an `OverloadError`, and no verdict follows. `exclusive_retry` repeats the run
   without other runs of ours beside it.

No code can choose the third ending. Each second that the machine offers counts as used or slept,
whatever the code does, so one of the first two limits is reached before the machine has offered
twice `time_s`. The third ending therefore means that the machine offered less than that in at least
ten times `time_s`: less than a fifth of a processor. The run cannot change this by disturbing the
probe: the run is held to one processor, which leaves another for the probe, and on a machine with a
single processor the probe still gets half of it. Other answers of the same user, which might
consume the machine's time, do not run during the retry. A machine that is overloaded even then says
nothing about any answer.

A run that does nothing on an idle machine ends soon after `time_s`, as it would by the clock.
"""

import re
import time
from collections.abc import Callable

from lmrbench_data.base.errors import InfraError, OverloadError

from .base import START_S, Ended, Limits, Outcome, Pieces

#: The first line of the runner, before any tested code runs, with the CPU seconds of its start.
_READY = re.compile(rb"ready (\d{1,6}\.\d{3})\n")
#: The last line of the runner: the CPU seconds of all cases. It informs users and decides nothing.
_USED = re.compile(rb"used (\d{1,6}\.\d{3})\n\Z")
_USED_BYTES = 32
#: Rule 3 ends a run after this many seconds, or this multiple of its CPU seconds if that is longer.
WALL_LEAST_S = 600.0
WALL_FACTOR = 10.0
#: Seconds between two checks of a run. Most runs end before the first.
MOST_S = 10.0
LEAST_S = 1.0
#: Checks within a limit, so that short limits are kept too.
CHECKS = 4
#: The part of the time between two checks for which the probe spins, and the least time for which
#: its result is more than chance.
PROBE_PART = 0.1
PROBE_LEAST_S = 0.25
#: A run that gets this share of a processor does not sleep, and needs no probe.
BUSY = 0.8


def wall_limit(time_s: float) -> float:
    """Return the wall-clock seconds that a run with this limit of CPU time may take."""
    return max(WALL_LEAST_S, WALL_FACTOR * time_s)


class Meter:
    """Measures one run: time for the start, then the rule from the runner's first line on."""

    def __init__(
        self, limits: Limits, used: Callable[[], float], offered: Callable[[float], float]
    ) -> None:
        """Start measuring.

        Args:
            used: returns the CPU seconds of the run and its start so far, measured from outside; 0
                if they are unknown, and then all available time counts as slept.
            offered: spins beside the run for some seconds and returns the share of a processor that
                it got.
        """
        self._time_s = limits.time_s
        self._used = used
        self._offered = offered
        self._interval_s = max(LEAST_S, min(MOST_S, limits.time_s / CHECKS))
        self._ready = False
        self._start_cpu_s = 0.0
        self._since = self._last_check = time.monotonic()
        self._next_check = self._since + START_S
        self._slept_s = 0.0
        self._waited_s = 0.0
        #: The share at the last check; unknown at first, when nothing counts as slept.
        self._share = 0.0
        #: CPU seconds from the first line to the last check; None before the first check.
        self.cpu: float | None = None

    def feed(self, stdout: bytearray) -> None:
        """Look for the runner's first line in the output so far."""
        if self._ready:
            return
        if first := _READY.match(stdout):
            self._ready = True
            self._start_cpu_s = float(first[1])
            self._since = self._last_check = time.monotonic()
            self._next_check = self._since + min(self._interval_s, self._time_s)

    def elapsed(self) -> float:
        """Return the wall-clock seconds since the first line, or since the start."""
        return time.monotonic() - self._since

    def rest(self) -> float:
        """Return the seconds until the next check; not positive when it is due."""
        return self._next_check - time.monotonic()

    def check(self) -> Ended | None:
        """Return how the run must end now; None if it may continue.

        Raises:
            OverloadError: the machine has no time for the run.
            InfraError: the measurement failed.
        """
        if not self._ready:
            raise OverloadError(f"the runner did not start within {START_S:.0f} s")
        used_s = self._measure()
        if max(used_s, self._slept_s) >= self._time_s:
            return Ended.TIME_LIMIT
        if self._waited_s >= wall_limit(self._time_s):
            wall_s = self.elapsed()
            raise OverloadError(
                "the machine is overloaded: "
                f"the run got {used_s:.0f} s of CPU time in {wall_s:.0f} s"
            )
        soon = max(LEAST_S / 4, (self._time_s - used_s) / 2)
        self._next_check = time.monotonic() + min(self._interval_s, soon)
        return None

    def _measure(self) -> float:
        """Count the time since the last check as used or slept; return the CPU seconds so far."""
        before_s = self.cpu or 0.0
        used_s = max(before_s, self._used() - self._start_cpu_s)
        now = time.monotonic()
        passed_s = now - self._last_check
        delta_s = used_s - before_s
        share = min(1.0, delta_s / passed_s) if passed_s > 0 else 0.0
        if share < BUSY and used_s < self._time_s:
            share = self._offered(max(PROBE_LEAST_S, self._interval_s * PROBE_PART))
        # The smaller of two measurements: uncertain time does not count against the run, nor does
        # time in which the harness itself was stopped.
        counted_s = min(passed_s, 2 * self._interval_s)
        self._slept_s += max(0.0, min(self._share, share) * counted_s - delta_s)
        self._waited_s += counted_s
        self._share = share
        self._last_check = now
        self.cpu = used_s
        return used_s


def collect_output(
    read: Callable[[float], Pieces | None],
    meter: Meter,
    limits: Limits,
    watch: Callable[[], Ended | None],
) -> tuple[bytearray, str, Ended]:
    """Collect stdout and the log until both end or the run reaches a limit.

    Args:
        read: returns what arrives within at most this many seconds; None at the end.
        watch: called after each wait; returns how the run must end because of a limit that only the
            sandbox knows.

    Raises:
        OverloadError, InfraError: as `Meter.check`.
    """
    stdout = bytearray()
    log = bytearray()
    ended: Ended | None = None
    while ended is None:
        rest_s = meter.rest()
        if rest_s <= 0:
            ended = meter.check()
            continue
        pieces = read(rest_s)
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
    """Return the outcome of a run, with what the runner sent between its first line and its last.

    Args:
        cpu_s: measured CPU time, for a runner that did not state it at its end.
        problem: the reason if the runner did not start.

    Raises:
        InfraError: the first line is missing, so no tested code has run and nothing can be its
            fault. Memory is an exception: the limit may be too low for the libraries that the
            tested code names.
    """
    first = _READY.match(stdout)
    if first is None and ended is not Ended.OUT_OF_MEMORY:
        raise InfraError(f"the runner did not start ({problem})")
    if first is not None:
        del stdout[: first.end()]
        if last := _USED.search(stdout, max(0, len(stdout) - _USED_BYTES)):
            if ended is Ended.EXITED:
                cpu_s = float(last[1])
            del stdout[last.start() :]
    return Outcome(bytes(stdout), log, ended, duration_s, cpu_s)
