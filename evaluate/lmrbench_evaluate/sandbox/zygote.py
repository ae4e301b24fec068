"""One zygote of any backend: libraries are loaded once, and each answer runs behind walls of its own.

The other side of the connection is `runner/zygote.py`. A job that reaches a limit is ended alone. Only a zygote in
whose container memory ran out is given up: the kernel may then have ended any of its processes.
"""

import contextlib
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from lmrbench_data.base.errors import InfraError

from .base import ENVIRONMENT, START_S, Ended, Limits, Outcome
from .meter import Meter, collect_output, make_outcome

#: Processes of a container besides those of an answer: the zygote, and the one that started it.
OWN_PROCESSES = 2
#: The capabilities of root's zygotes; those of an ordinary user have none.
ZYGOTE_CAPABILITIES = ("SYS_ADMIN", "NET_ADMIN", "SETUID", "SETGID", "SETPCAP", "KILL")
ZYGOTE_ENVIRONMENT = {
    **ENVIRONMENT,
    "HOME": "/work",
    "OMP_WAIT_POLICY": "passive",
    **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"),
}
#: Seconds that the kernel may take to end all processes of a job.
_END_S = 10.0


class GoneError(InfraError):
    """The zygote ended before it took an answer."""


@dataclass(frozen=True)
class Host:
    """A started zygote, as its backend reaches it."""

    send: Callable[[bytes], None]
    read: Callable[[float], list[tuple[bool, bytes]] | None]
    """Waits for at most this many seconds; returns (is stdout, data) pairs, and None at the end."""
    cpu_seconds: Callable[[], float]
    """CPU seconds of all its processes so far."""
    offered: Callable[[], contextlib.AbstractContextManager[Callable[[float], float]]]
    """Yields the probe of a `Meter`."""
    watch: Callable[[], Ended | None]
    """Returns how a job must end because of a limit that only the backend knows."""
    end: Callable[[str], tuple[Ended, str]]
    """Returns how the zygote ended, given its stderr, and a line about it."""


class Zygote:
    """Runs one answer at a time on a host."""

    def __init__(self, host: Host) -> None:
        """Wait until it has built walls, around nothing; GoneError if the machine refuses them or it did not start."""
        self._host, self._buffer, self._errors = host, bytearray(), ""
        #: CPU seconds that the host counts and the zygote does not; unknown until there are walls.
        self._uncounted: float | None = None
        self._begin()
        self._wait(lambda: self._uncounted is not None, START_S)
        if self._uncounted is None:
            raise GoneError(f"answers cannot share libraries here ({host.end(self._errors)[1]})")

    def _begin(self) -> None:
        """Expect a new job."""
        #: CPU seconds before the job; negative until the zygote has taken it.
        self._cpu_before = -1.0
        #: How many processes the kernel killed meanwhile, and the exit status of the job, once it has ended.
        self._report: tuple[int, int] | None = None

    def run(self, modules: Sequence[str], workspace: bytes, limits: Limits) -> tuple[Outcome, bool]:
        """Run one answer, as `SharedSandbox.run`; return its outcome, and whether the zygote can take another."""
        self._begin()
        host = self._host
        host.send(json.dumps({"modules": modules, "size": len(workspace)}).encode("ascii") + b"\n" + workspace)
        with host.offered() as offered:
            meter = Meter(limits, lambda: host.cpu_seconds() - self._cpu_before, offered)
            stdout, log, ended = collect_output(self._read, meter, limits, host.watch)
            duration = meter.elapsed()
            if ended is not Ended.EXITED:
                host.send(b"{}\n")
                self._wait(lambda: self._report is not None, _END_S)
        kills, status = self._report or (0, 1)
        problem = f"{ended}: {(log or self._errors).strip()[-300:]}"
        if ended is Ended.EXITED and self._report is None:
            ended, problem = host.end(self._errors)
            if self._cpu_before < 0:
                raise GoneError(f"a zygote ended ({problem})")
        elif ended is Ended.EXITED and kills and status:
            ended = Ended.OUT_OF_MEMORY
        is_well = self._report is not None and not kills
        return make_outcome(stdout, log, ended, duration, meter.cpu, problem), is_well

    def _wait(self, arrived: Callable[[], bool], seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while not arrived() and (rest := deadline - time.monotonic()) > 0 and self._read(rest) is not None:
            pass

    def _read(self, timeout_s: float) -> list[tuple[bool, bytes]] | None:
        """Return pieces of the job's output as (is stdout, data); None once all of it has been read, or at the end."""
        if self._report is not None or (arrived := self._host.read(timeout_s)) is None:
            return None
        for is_stdout, data in arrived:
            if is_stdout:
                self._buffer += data
            else:
                self._errors = (self._errors + data.decode("utf-8", "replace"))[-2000:]
        return list(self._pieces())

    def _pieces(self) -> Iterator[tuple[bool, bytes]]:
        while (line_end := self._buffer.find(b"\n")) >= 0:
            kind, *words = bytes(self._buffer[:line_end]).split()
            size = int(words[0]) if kind in (b"out", b"log") else 0
            if len(self._buffer) < line_end + 1 + size:
                return
            data = bytes(self._buffer[line_end + 1 : line_end + 1 + size])
            del self._buffer[: line_end + 1 + size]
            if kind == b"walls":
                self._uncounted = self._host.cpu_seconds() - int(words[0]) / 1e9 if words else 0.0
            elif kind == b"begin":  # asking the host for each answer would take most of its own time
                self._cpu_before = int(words[0]) / 1e9 + (self._uncounted or 0.0)
            elif kind == b"end":
                self._report = int(words[0]), int(words[1])
            else:
                yield kind == b"out", data
