"""One warm container: libraries are loaded once, and answers run in it one after the other.

Its process 1 (`runner/warm_supervisor.py`) is root with three capabilities, so the wall between answers is weaker than
between containers. System V and POSIX message queues, semaphores and shared memory are forbidden, because they would
outlive an answer.
"""

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass

from lmrbench_data.base.errors import InfraError

from ..runner import source, warm_files
from .base import ENVIRONMENT, PYTHON_OPTIONS, Ended, Limits, Outcome
from .docker import WORK, DockerSandbox, end_of_container, tmpfs_options
from .docker_client import StreamReader, attached, cpu_seconds, engine_errors, send
from .meter import Meter, collect_output, make_outcome

#: Processes of the container besides those of an answer.
OWN_PROCESSES = 64
_ENVIRONMENT = {
    **ENVIRONMENT,
    "HOME": WORK,
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
                    command=["python", *PYTHON_OPTIONS, "-c", source("warm_start.py"), json.dumps(warm_files())],
                    environment=_ENVIRONMENT,
                    stdin_open=True,
                    network_disabled=True,
                )
            )
            with engine_errors("Docker engine"):
                self._connection = stack.enter_context(attached(self._api, self._id))
                self._api.start(self._id)
            self._stack = stack.pop_all()
        self._relay = _Relay(StreamReader(self._connection))

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
        with engine_errors("Docker engine"), self._docker.offered_share(self._image) as offered:
            meter = Meter(limits, lambda: cpu_seconds(self._api, self._id) - relay.cpu_before, offered)
            stdout, log, ended = collect_output(relay.read, meter, limits)
            duration, problem = meter.elapsed(), f"{ended}: {log.strip()[-300:]}"
            alive = relay.ended
            if ended is Ended.EXITED and not alive:
                ended, problem = end_of_container(self._api, self._id, relay.errors)
                if relay.cpu_before < 0:
                    raise GoneError(f"a warm container ended ({problem})")
            return make_outcome(stdout, log, ended, duration, meter.cpu, problem), alive

    def close(self) -> None:
        """Remove the container."""
        self._stack.close()

    def _message(self, kind: str, recipe: Recipe, content: bytes) -> None:
        head = {"kind": kind, "instance": recipe.instance, "size": len(content)}
        send(self._connection, json.dumps(head).encode("ascii") + b"\n" + content)


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
        if self.ended or (arrived := self._reader.read(timeout_s)) is None:
            return None
        for is_stdout, data in arrived:
            if is_stdout:
                self._buffer += data
            else:
                self.errors = (self.errors + data.decode("utf-8", "replace"))[-2000:]
        return list(self._pieces())

    def _pieces(self) -> Iterator[tuple[bool, bytes]]:
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
