"""The one interface of all sandboxes: bytes in (a tar), bytes out (a stream), limits, and how it ended.

A sandbox knows nothing of tasks or verdicts.
"""

import time
from dataclasses import dataclass
from enum import StrEnum
from types import TracebackType
from typing import Protocol, Self

from ...errors import InfraError

#: The runner's first word, said before any tested code runs.
READY = b"ready\n"
#: What unpacking and loading libraries may take on a busy machine, before that word.
START_S = 120.0


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
    """From the runner's first word on: a slow start is not the tested code's."""
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
    """From the runner's first word on."""


class Clock:
    """Measures a run: an allowance for the start, then the limit from the runner's first word on."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._since = time.monotonic()
        self._allowed = START_S
        self._ready = False

    def hear(self, stdout: bytearray) -> None:
        """Look for the first word in what has come so far."""
        if not self._ready and stdout.startswith(READY):
            self._since, self._allowed, self._ready = time.monotonic(), self._limits.time_s, True

    def elapsed(self) -> float:
        """Seconds since the first word, or since the start."""
        return time.monotonic() - self._since

    def rest(self) -> float:
        """Seconds that are left; not positive when time is up."""
        return self._allowed - self.elapsed()


def runner_stream(stdout: bytearray, ended: Ended, problem: str) -> bytes:
    """What the runner sent after its first word.

    Args:
        problem: what is known about a runner that did not start.

    Raises:
        InfraError: the first word is missing, so no tested code has run yet and nothing can be its fault (memory apart:
            the limit may be too low for the libraries that the tested code names).
    """
    if stdout.startswith(READY):
        del stdout[: len(READY)]
    elif ended is not Ended.OUT_OF_MEMORY:
        raise InfraError(f"the runner did not start ({problem})")
    return bytes(stdout)


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
