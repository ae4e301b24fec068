"""The one interface of all sandboxes: bytes in (a tar), bytes out (a stream), limits, and how it ended.

A sandbox knows nothing of tasks or verdicts.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from types import TracebackType
from typing import Protocol, Self

from lmrbench_data.base.errors import InfraError

#: The runner's first word, said before any tested code runs, with the CPU seconds that its own start took.
READY = re.compile(rb"ready(?: (\d{1,6}\.\d{3}))?\n")
#: The runner's last word: the CPU seconds of all cases. It is shown to users and decides nothing.
_USED = re.compile(rb"used (\d{1,6}\.\d{3})\n\Z")
#: Seconds by the clock for unpacking and loading libraries, before the first word. It takes seconds of CPU time, and
#: no tested code runs yet: only a machine that is overloaded or broken needs longer.
START_S = 600.0


class Ended(StrEnum):
    """How a run in a sandbox came to its end, as seen from outside."""

    EXITED = "exited"
    TIME_LIMIT = "time_limit"
    OUT_OF_MEMORY = "out_of_memory"
    OUTPUT_LIMIT = "output_limit"


@dataclass(frozen=True)
class Limits:
    """What a run may use."""

    time_s: float
    """Seconds of CPU time, all processes together, from the runner's first word on: neither a slow start nor a busy
    machine is the tested code's fault. `meter` has the rule, and what becomes of code that sleeps."""
    memory_mb: int
    processes: int = 256
    disk_mb: int = 256
    output_mb: int = 64
    log_kb: int = 256

    def as_row(self) -> dict[str, int]:
        """The limits that are the same for all instances, as run.json records them."""
        return {
            "processes": self.processes,
            "disk_mb": self.disk_mb,
            "output_mb": self.output_mb,
            "log_kb": self.log_kb,
        }


@dataclass(frozen=True)
class Outcome:
    """What came out of a sandbox."""

    stdout: bytes
    log: str
    ended: Ended
    duration_s: float
    """Seconds by the clock, from the runner's first word on."""
    cpu_s: float | None = None
    """Seconds of CPU time in that time; None if unknown."""
    slowed: bool = False
    """Whether the machine was seen to give this run less than half a processor."""


def runner_stream(stdout: bytearray, ended: Ended, problem: str) -> bytes:
    """What the runner sent between its first word and its last.

    Args:
        problem: what is known about a runner that did not start.

    Raises:
        InfraError: the first word is missing, so no tested code has run yet and nothing can be its fault (memory apart:
            the limit may be too low for the libraries that the tested code names).
    """
    if first := READY.match(stdout):
        del stdout[: first.end()]
        if last := _last_word(stdout):
            del stdout[-len(last[0]) :]
    elif ended is not Ended.OUT_OF_MEMORY:
        raise InfraError(f"the runner did not start ({problem})")
    return bytes(stdout)


def used_cpu(stdout: bytearray) -> float | None:
    """The CPU seconds that the runner's last word names; None without such a word. Ask before `runner_stream`."""
    last = _last_word(stdout)
    return float(last[1]) if last else None


def _last_word(stdout: bytearray) -> re.Match[bytes] | None:
    return _USED.search(stdout, max(0, len(stdout) - 32))


class Sandbox(Protocol):
    """Where tested code runs; a context manager that leaves nothing behind."""

    name: str
    official: bool
    """Whether its results may stand on a leaderboard."""

    def prepare(self, tag: str) -> str:
        """Make the environment with this image tag available; return the identity that results record.

        Raises:
            InfraError: it cannot be had.
        """
        ...

    def run(self, image: str, workspace: bytes, limits: Limits) -> Outcome:
        """Run one workspace (see `workspace.workspace_tar`); safe to call from several threads.

        Args:
            image: what `prepare` returned.

        Raises:
            OverloadError: the machine had no time for it.
            InfraError: the machinery failed; nothing is known about the tested code.
        """
        ...

    def close(self) -> None:
        """Stop everything that still runs and leave nothing behind; running `run` calls raise InfraError."""
        ...

    def __enter__(self) -> Self:
        """The sandbox itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()
