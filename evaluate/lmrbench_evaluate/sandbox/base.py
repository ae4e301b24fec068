"""The interface of all sandboxes: a tar in, a stream of bytes out, limits, and how the run ended.

A sandbox knows nothing about tasks or verdicts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, Self

#: Wall-clock limit for unpacking and loading libraries, before the first line. That takes seconds
#: of CPU time, and no tested code runs yet: only an overloaded or broken machine needs longer.
START_S = 600.0
#: The environment of every run, beside PATH and its own folders; a random user has no other name.
USER_NAME = "nobody"
ENVIRONMENT = {
    "LANG": "C.UTF-8",
    "LOGNAME": USER_NAME,
    # Without it, the order of sets, and so a verdict, could differ between runs.
    "PYTHONHASHSEED": "0",
    "USER": USER_NAME,
}
#: Options of every run's Python: those of -I without -E, which ignores PYTHONHASHSEED.
PYTHON_OPTIONS = ("-s", "-P")
#: Output of a process: whether each piece is of stdout, and its data.
Pieces = list[tuple[bool, bytes]]


class Ended(StrEnum):
    """The end of a run in a sandbox, as seen from outside."""

    EXITED = "exited"
    TIME_LIMIT = "time_limit"
    OUT_OF_MEMORY = "out_of_memory"
    OUTPUT_LIMIT = "output_limit"


@dataclass(frozen=True)
class Limits:
    """The limits of a run."""

    time_s: float
    """CPU seconds of all processes together, from the runner's first line on: neither a slow start
    nor a busy machine is the tested code's fault. `meter` has the rule, also for sleeping code."""
    memory_mb: int
    processes: int = 256
    disk_mb: int = 256
    output_mb: int = 64
    log_kb: int = 256

    def as_row(self) -> dict[str, int]:
        """Return the limits that are the same for all instances, as run.json records them."""
        names = ("processes", "disk_mb", "output_mb", "log_kb")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class Outcome:
    """The result of a run in a sandbox."""

    stdout: bytes
    log: str
    ended: Ended
    duration_s: float
    """Wall-clock seconds from the runner's first line on."""
    cpu_s: float | None = None
    """CPU seconds in that time; None if unknown."""


class Sandbox(Protocol):
    """Runs tested code; a context manager that leaves nothing behind."""

    name: str
    official: bool
    """True if leaderboards accept its results."""
    isolation: str
    """How answers are separated (`zygotes.ISOLATIONS`); settled once `prepare` has returned."""

    def prepare(self, tag: str) -> str:
        """Make the environment with this image tag available; return its identity for results.

        Raises:
            InfraError: the environment is not available.
        """
        ...

    def run(
        self, image: str, workspace: bytes, limits: Limits, modules: Sequence[str] = ()
    ) -> Outcome:
        """Run one workspace (see `workspace.workspace_tar`); safe to call from several threads.

        Args:
            image: the identity that `prepare` returned.
            modules: libraries to load before the workspace arrives, which no answer has chosen.

        Raises:
            OverloadError: the machine had no time for the run.
            InfraError: the machinery failed; nothing is known about the tested code.
        """
        ...

    def close(self) -> None:
        """Stop all runs and leave nothing behind; pending calls of `run` raise InfraError."""
        ...

    def __enter__(self) -> Self:
        """Return the sandbox itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()
