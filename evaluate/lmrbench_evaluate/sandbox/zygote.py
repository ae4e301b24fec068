"""One zygote of any backend: libraries are loaded once, and each answer is a job of its own.

The other side of the connection is `runner/zygote.py`. A job that reaches a limit is ended alone.
A zygote is given up only if memory ran out in its container: the kernel may then have ended any of
its processes.
"""

import contextlib
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lmrbench_data.base.errors import InfraError

from ..runner import zygote_message
from .base import START_S, Ended, Limits, Outcome, Pieces
from .meter import Meter, collect_output, make_outcome

#: Processes of a container besides those of an answer: the zygote, and the one that started it.
OWN_PROCESSES = 2
#: Where a job finds its workspace, in a sandbox with a file system of its own.
WORK = "/work"
#: Seconds that the kernel may take to end all processes of a job.
END_S = 10.0


class GoneError(InfraError):
    """The zygote ended before it took an answer."""


@dataclass
class Job:
    """Reports of the zygote about its present job."""

    cpu_before_s: float | None = None
    """CPU seconds of the zygote before the job; None until it has taken the job."""
    has_ended: bool = False
    kills: int = 0
    """Processes that the kernel killed meanwhile for lack of memory."""
    status: int = 0


class Zygote(ABC):
    """Runs one answer at a time; a subclass says how its backend reaches the process."""

    #: Whether its first job is the only one and takes its place; see `runner/zygote.py`.
    runs_in_place = False

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._errors = ""
        self.job = Job()
        #: CPU seconds that the backend counts and the zygote does not; None until it has started.
        self._uncounted_s: float | None = None

    @abstractmethod
    def send(self, data: bytes) -> None:
        """Send data; does nothing if the process has ended."""

    @abstractmethod
    def read(self, timeout_s: float) -> Pieces | None:
        """Return the output that arrives within at most this many seconds; None at the end."""

    @abstractmethod
    def cpu_seconds(self) -> float:
        """Return the CPU seconds of all its processes so far."""

    @abstractmethod
    def offered_share(self, seconds: float) -> float:
        """Spin beside it and return the share of a processor that was available (see `Meter`)."""

    @abstractmethod
    def describe_end(self, errors: str) -> tuple[Ended, str]:
        """Return how the process ended, given its stderr, and a line about it."""

    def watch(self, limits: Limits) -> Callable[[], Ended | None]:
        """Return a function that says how a job must end because of a limit of the backend."""
        return lambda: None

    def folder(self) -> contextlib.AbstractContextManager[str]:
        """Yield the folder of a job, and leave nothing of the job behind."""
        return contextlib.nullcontext(WORK)

    def rlimits(self, limits: Limits) -> Mapping[str, int]:
        """Return the rlimits of a job by name."""
        return {}

    def start(self, program: bytes) -> None:
        """Send the program and wait until the zygote can take a job.

        Raises:
            GoneError: the zygote ended, for example because the machine refuses its walls.
        """
        self.send(program)
        self._read_until(lambda: self._uncounted_s is not None, START_S)
        if self._uncounted_s is None:
            problem = self.describe_end(self._errors)[1]
            raise GoneError(f"a zygote does not start: {problem}")

    def run(self, modules: Sequence[str], workspace: bytes, limits: Limits) -> tuple[Outcome, bool]:
        """Run one answer; return its outcome, and whether the zygote can take another.

        Raises:
            GoneError: the zygote had ended before.
            OverloadError, InfraError: as `Sandbox.run`.
        """
        job = self.job = Job()
        with self.folder() as work:
            self.send(zygote_message(workspace, modules, work, self.rlimits(limits)))
            meter = Meter(limits, self._job_cpu_seconds, self.offered_share)
            watch = self.watch(limits)
            stdout, log, ended = collect_output(self._read_job, meter, limits, watch)
            duration_s = meter.elapsed()
            if ended is not Ended.EXITED:
                self._end_job()
        ended, problem = self._end_of_job(ended, log)
        outcome = make_outcome(stdout, log, ended, duration_s, meter.cpu, problem)
        return outcome, job.has_ended and not job.kills

    def _end_job(self) -> None:
        """End a job that has reached a limit; a job in place ends with its container."""
        if not self.runs_in_place:
            self.send(b"{}\n")
            self._read_until(lambda: self.job.has_ended, END_S)

    def _end_of_job(self, ended: Ended, log: str) -> tuple[Ended, str]:
        """Return how the job ended, given how its output ended, and a line about it."""
        problem = f"{ended}: {(log or self._errors).strip()[-300:]}"
        if ended is not Ended.EXITED:
            return ended, problem
        if not self.job.has_ended:
            return self._end_with_zygote(log)
        is_out_of_memory = self.job.kills and self.job.status
        return (Ended.OUT_OF_MEMORY if is_out_of_memory else Ended.EXITED), problem

    def _end_with_zygote(self, log: str) -> tuple[Ended, str]:
        """Return how a job ended whose zygote has ended, and a line about it."""
        ended, problem = self.describe_end(self._errors or log)
        if self.job.cpu_before_s is None:
            raise GoneError(f"a zygote ended ({problem})")
        return ended, problem

    def _job_cpu_seconds(self) -> float:
        return self.cpu_seconds() - (self.job.cpu_before_s or 0.0)

    def _read_until(self, has_arrived: Callable[[], bool], seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while not has_arrived():
            rest_s = deadline - time.monotonic()
            if rest_s <= 0 or self._read_job(rest_s) is None:
                return

    def _read_job(self, timeout_s: float) -> Pieces | None:
        """Return output of the job; None once all of it has been read, or at the end."""
        if self.job.has_ended:
            return None
        arrived = self.read(timeout_s)
        if arrived is None:
            return None
        pieces: Pieces = []
        for is_stdout, data in arrived:
            if self.runs_in_place and self.job.cpu_before_s is not None:
                pieces.append((is_stdout, data))
            elif is_stdout:
                self._buffer += data
                pieces += self._read_messages()
            else:
                text = data.decode("utf-8", "replace")
                self._errors = (self._errors + text)[-2000:]
        return pieces

    def _read_messages(self) -> Iterator[tuple[bool, bytes]]:
        """Note what the zygote reports; yield the output of the job."""
        while message := _take_message(self._buffer):
            if message.kind in ("out", "log"):
                yield message.kind == "out", message.data
            else:
                self._note(message.kind, message.numbers)
            if message.kind == "begin" and self.runs_in_place:  # the rest is output
                yield True, bytes(self._buffer)
                self._buffer.clear()

    def _note(self, event: str, numbers: list[int]) -> None:
        if event == "started":
            self._uncounted_s = self.cpu_seconds() - numbers[0] / 1e9
        elif event == "begin":
            # To ask the backend for each answer would take most of the answer's own time.
            self.job.cpu_before_s = numbers[0] / 1e9 + (self._uncounted_s or 0.0)
        elif event == "end":
            self.job.kills, self.job.status = numbers
            self.job.has_ended = True


class _Message(NamedTuple):
    kind: str
    numbers: list[int]
    data: bytes


def _take_message(buffer: bytearray) -> _Message | None:
    """Take the first message off a buffer; None if it is not complete."""
    data_start = buffer.find(b"\n") + 1
    if not data_start:
        return None
    kind, *numbers = buffer[:data_start].decode("ascii").split()
    size = int(numbers[0]) if kind in ("out", "log") else 0
    if len(buffer) < data_start + size:
        return None
    data = bytes(buffer[data_start : data_start + size])
    del buffer[: data_start + size]
    return _Message(kind, [int(number) for number in numbers], data)
