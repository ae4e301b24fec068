"""Measure the CPU time of a box while an agent works in it, and end the agent when its budget is spent."""

import contextlib
import threading
from collections.abc import Iterator

from ...base.errors import InfraError
from .box import Box

CPU_LIMIT = "cpu_limit"
#: Seconds between two measurements; an agent overshoots its budget by about this time on each core.
INTERVAL_S = 1.0


class CpuMeter:
    """The CPU time that all processes of a box have used, in seconds."""

    def __init__(self, box: Box, budget_s: float | None) -> None:
        self._box, self._budget_s = box, budget_s
        self._ended = threading.Event()
        self.used_s = 0.0
        self.is_over = False
        """Whether the budget is spent; every process that the agent starts from then on is ended."""

    @contextlib.contextmanager
    def running(self) -> Iterator["CpuMeter"]:
        """Measure in a thread until the block ends."""
        thread = threading.Thread(target=self._watch, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._ended.set()
            thread.join()
            self._measure()

    def _watch(self) -> None:
        while not self._ended.wait(INTERVAL_S):
            self._measure()
            if self._budget_s is not None and self.used_s > self._budget_s:
                self.is_over = True
                with contextlib.suppress(InfraError):  # the box may have ended by itself
                    self._box.end_processes()

    def _measure(self) -> None:
        with contextlib.suppress(InfraError):
            self.used_s = max(self.used_s, self._box.cpu_seconds())
