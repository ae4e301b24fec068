"""One warm container: libraries are loaded once, and answers run in it one after the other.

Its process 1 (`runner/warm_supervisor.py`) is root with three capabilities, so the wall between answers is weaker than
between containers. System V and POSIX message queues, semaphores and shared memory are forbidden, because they would
outlive an answer.
"""

import contextlib
import json
import time
from dataclasses import dataclass
from typing import Any

from lmrbench_data.base.errors import InfraError

from ..runner import warm_files, warm_start
from .base import START_S, Ended, Limits, Outcome
from .docker import USER, WORK, DockerSandbox, end_of_container, tmpfs_options
from .docker_client import engine_errors
from .docker_cpu import CpuProbe, cpu_seconds
from .docker_stream import StreamReader, stream_socket
from .meter import Meter
from .runner_output import collect_output, make_outcome

#: Processes of the container besides those of an answer.
OWN_PROCESSES = 64
_ENVIRONMENT = {
    "HOME": WORK,
    "LANG": "C.UTF-8",
    "OMP_WAIT_POLICY": "passive",
    **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"),
}
_NO_IPC = {"kernel.shmmni": "0", "kernel.msgmni": "0", "kernel.sem": "0 0 0 0", "fs.mqueue.queues_max": "0"}


class GoneError(InfraError):
    """The container ended before it took the answer."""


@dataclass(frozen=True)
class Recipe:
    """The part that all jobs of an instance share; made of trusted texts only."""

    instance: str
    modules: tuple[str, ...] = ()
    """Libraries to import."""
    sources: tuple[tuple[str, str], ...] = ()
    """(path, source) to compile."""


class WarmContainer:
    """A container that runs one answer at a time."""

    def __init__(self, docker: DockerSandbox, image: str, limits: Limits) -> None:
        """Start it; it loads libraries with its first answer.

        Args:
            limits: its memory and disk are those of each answer.

        Raises:
            InfraError: the engine failed.
        """
        self._docker, self._image = docker, image
        self._known: set[str] = set()
        self._stack = contextlib.ExitStack()
        files = json.dumps(warm_files()).encode()
        options = tmpfs_options(limits)
        with contextlib.ExitStack() as stack:
            self._api, self._id = stack.enter_context(
                docker.container(
                    image,
                    Limits(0, limits.memory_mb, limits.processes + OWN_PROCESSES, limits.disk_mb),
                    host={
                        "tmpfs": {WORK: options, "/tmp": options},
                        "cap_add": ["SETUID", "SETGID", "KILL"],
                        "sysctls": _NO_IPC,
                    },
                    user="0:0",
                    command=["python", "-I", "-c", warm_start(), str(len(files))],
                    environment=_ENVIRONMENT,
                    stdin_open=True,
                    network_disabled=True,
                )
            )
            parameters = {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
            attached = stack.enter_context(contextlib.closing(self._api.attach_socket(self._id, params=parameters)))
            self._connection = stack.enter_context(contextlib.closing(stream_socket(attached)))
            with engine_errors("Docker engine"):
                self._api.start(self._id)
            self._stack = stack.pop_all()
        self._relay = _Relay(StreamReader(self._connection))
        self._send(files)

    def run(self, recipe: Recipe, workspace: bytes, limits: Limits) -> tuple[Outcome, bool]:
        """Run one answer; return its outcome, and whether the container can take another.

        Raises:
            GoneError: the container ended before it took the answer.
            OverloadError: the machine had no time for the run.
            InfraError: the machinery failed.
        """
        if recipe.instance not in self._known:
            facts = json.dumps({"modules": recipe.modules, "sources": recipe.sources}).encode()
            self._message("learn", recipe, facts)
            self._known.add(recipe.instance)
        self._message("run", recipe, workspace)
        relay = self._relay
        relay.begin()
        probe = CpuProbe(lambda **options: self._docker.container(self._image, **options), USER)
        with engine_errors("Docker engine"), contextlib.closing(probe):
            meter = Meter(limits, lambda: cpu_seconds(self._api, self._id) - relay.cpu_before, probe.share)
            stdout, log, ended = collect_output(relay.read, meter, limits)
            duration, problem = meter.elapsed(), f"{ended}: {log.strip()[-300:]}"
            alive = relay.ended
            if ended is Ended.EXITED and not alive:
                ended, problem = end_of_container(self._api, self._id, relay.errors)
                if relay.cpu_before < 0:
                    raise GoneError(f"a warm container ended ({problem})")
            return make_outcome(stdout, log, ended, duration, meter, problem), alive

    def close(self) -> None:
        """Remove the container."""
        self._stack.close()

    def _message(self, kind: str, recipe: Recipe, content: bytes) -> None:
        head = {"kind": kind, "instance": recipe.instance, "size": len(content)}
        self._send(json.dumps(head).encode("ascii") + b"\n" + content)

    def _send(self, data: bytes) -> None:
        # A container that has ended does not read; its state gives the reason.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._connection.settimeout(START_S)
            self._connection.sendall(data)


class _Relay:
    """Reads the supervisor's reports on one job after another."""

    def __init__(self, reader: StreamReader) -> None:
        self._reader = reader
        self._buffer = bytearray()
        self.errors = ""
        self.begin()

    def begin(self) -> None:
        """Expect a new job."""
        self.ended = False
        #: CPU seconds of the container before the job; negative until the supervisor has taken it.
        self.cpu_before = -1.0

    def read(self, timeout_s: float) -> list[tuple[bool, bytes]] | None:
        """Return pieces of the job's output as (is stdout, data); None once all of it has been read, or at the end."""
        if self.ended:
            return None
        deadline = time.monotonic() + timeout_s
        pieces: list[tuple[bool, bytes]] = []
        while not pieces and not self.ended:
            if (rest := deadline - time.monotonic()) <= 0:
                break
            found = self._reader.read(rest)
            if found is None:
                return None
            for is_stdout, data in found:
                if is_stdout:
                    self._buffer += data
                else:
                    self.errors = (self.errors + data.decode("utf-8", "replace"))[-2000:]
            pieces = list(self._pieces())
        return pieces

    def _pieces(self) -> Any:
        while (line_end := self._buffer.find(b"\n")) >= 0:
            kind, _, number = bytes(self._buffer[:line_end]).partition(b" ")
            size = int(number) if kind in (b"out", b"log") else 0
            if len(self._buffer) < line_end + 1 + size:
                return
            data = bytes(self._buffer[line_end + 1 : line_end + 1 + size])
            del self._buffer[: line_end + 1 + size]
            if kind == b"begin":
                self.cpu_before = max(0.0, float(number))
            elif kind == b"end":
                self.ended = True
            else:
                yield kind == b"out", data
