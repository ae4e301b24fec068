"""One zygote of any backend: libraries are loaded once, and each answer is a job of its own.

The other side of the connection is `runner/zygote.py`. A job that reaches a limit is ended alone. Only a zygote in
whose container memory ran out is given up: the kernel may then have ended any of its processes.
"""

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from lmrbench_data.base.errors import InfraError

from ..runner import zygote_message
from .base import ENVIRONMENT, START_S, Ended, Limits, Outcome
from .meter import Meter, collect_output, make_outcome

#: Processes of a container besides those of an answer: the zygote, and the one that started it.
OWN_PROCESSES = 2
ZYGOTE_ENVIRONMENT = {
    **ENVIRONMENT,
    "OMP_WAIT_POLICY": "passive",
    **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"),
}
#: Where a job finds its workspace, in a sandbox with a file system of its own.
WORK = "/work"
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
    end: Callable[[str], tuple[Ended, str]]
    """Returns how the zygote ended, given its stderr, and a line about it."""
    watch: Callable[[Limits], Callable[[], Ended | None]] = lambda limits: lambda: None
    """Returns a function that says how a job must end because of a limit that only the backend knows."""
    folder: Callable[[], contextlib.AbstractContextManager[str]] = lambda: contextlib.nullcontext(
        WORK
    )
    """Yields the folder of a job, and leaves nothing of the job behind."""
    rlimits: Callable[[Limits], Mapping[str, int]] = field(default=lambda limits: {})
    """Returns the rlimits of a job by name."""
    runs_in_place: bool = False
    """Whether its first job is the only one and takes its place; see `runner/zygote.py`."""


class Zygote:
    """Runs one answer at a time on a host."""

    def __init__(self, host: Host, program: bytes) -> None:
        """Send the program and wait until it can take a job; GoneError if the machine refuses its walls."""
        self._host, self._buffer, self._errors = host, bytearray(), ""
        #: CPU seconds that the host counts and the zygote does not; None until it has started.
        self._uncounted: float | None = None
        self._begin()
        host.send(program)
        self._wait(lambda: self._uncounted is not None, START_S)
        if self._uncounted is None:
            raise GoneError(f"a zygote does not start: {host.end(self._errors)[1]}")

    def _begin(self) -> None:
        """Expect a new job."""
        #: CPU seconds before the job; None until the zygote has taken it.
        self._cpu_before: float | None = None
        #: How many processes the kernel killed meanwhile, and the exit status of the job, once it has ended.
        self._report: tuple[int, int] | None = None

    def run(self, modules: Sequence[str], workspace: bytes, limits: Limits) -> tuple[Outcome, bool]:
        """Run one answer, as `Sandbox.run`; return its outcome, and whether the zygote can take another.

        Raises:
            GoneError: the zygote had ended before.
            OverloadError, InfraError: as `Sandbox.run`.
        """
        self._begin()
        host = self._host
        with host.folder() as work, host.offered() as offered:
            host.send(zygote_message(workspace, modules, work, host.rlimits(limits)))
            meter = Meter(limits, lambda: host.cpu_seconds() - (self._cpu_before or 0.0), offered)
            stdout, log, ended = collect_output(self._read, meter, limits, host.watch(limits))
            duration = meter.elapsed()
            if ended is not Ended.EXITED and not host.runs_in_place:
                host.send(b"{}\n")
                self._wait(lambda: self._report is not None, _END_S)
        problem = f"{ended}: {(log or self._errors).strip()[-300:]}"
        if self._report is not None:
            kills, status = self._report
            if ended is Ended.EXITED and kills and status:
                ended = Ended.OUT_OF_MEMORY
        elif ended is Ended.EXITED:
            ended, problem = host.end(self._errors or log)
            if self._cpu_before is None:
                raise GoneError(f"a zygote ended ({problem})")
        is_well = self._report is not None and not self._report[0]
        return make_outcome(stdout, log, ended, duration, meter.cpu, problem), is_well

    def _wait(self, arrived: Callable[[], bool], seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while (
            not arrived()
            and (rest := deadline - time.monotonic()) > 0
            and self._read(rest) is not None
        ):
            pass

    def _read(self, timeout_s: float) -> list[tuple[bool, bytes]] | None:
        """Return pieces of the job's output as (is stdout, data); None once all of it has been read, or at the end."""
        if self._report is not None or (arrived := self._host.read(timeout_s)) is None:
            return None
        pieces: list[tuple[bool, bytes]] = []
        for is_stdout, data in arrived:
            if self._host.runs_in_place and self._cpu_before is not None:
                pieces.append((is_stdout, data))
            elif is_stdout:
                self._buffer += data
                pieces += self._messages()
            else:
                self._errors = (self._errors + data.decode("utf-8", "replace"))[-2000:]
        return pieces

    def _messages(self) -> Iterator[tuple[bool, bytes]]:
        """Read the complete messages in the buffer; yield the output of the job."""
        while (line_end := self._buffer.find(b"\n")) >= 0:
            kind, *words = bytes(self._buffer[:line_end]).split()
            size = int(words[0]) if kind in (b"out", b"log") else 0
            if len(self._buffer) < line_end + 1 + size:
                return
            data = bytes(self._buffer[line_end + 1 : line_end + 1 + size])
            del self._buffer[: line_end + 1 + size]
            if kind == b"started":
                self._uncounted = self._host.cpu_seconds() - int(words[0]) / 1e9
            elif (
                kind == b"begin"
            ):  # asking the host for each answer would take most of its own time
                self._cpu_before = int(words[0]) / 1e9 + (self._uncounted or 0.0)
                if self._host.runs_in_place:
                    yield True, bytes(self._buffer)
                    self._buffer.clear()
            elif kind == b"end":
                self._report = int(words[0]), int(words[1])
            else:
                yield kind == b"out", data
