"""Call functions on untrusted input in child processes with limits on memory, CPU time and output.

Python's parser holds the interpreter's lock while it works, and a small PDF can expand to gigabytes
or crash its reader: nothing inside this process could stop them. A few children with the default
limits are kept for later calls; each ends with the pipe that it reads from.
"""

import atexit
import contextlib
import importlib
import json
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

from .child import (
    Child,
    clean_environment,
    describe_status,
    frame,
    limit_cpu,
    limit_resources,
    receive_frame,
    take_stdout,
)
from .errors import InfraError, InputError
from .source import MalformedAnswerError

MIB = 1024 * 1024
#: Children that are kept between calls.
MAX_IDLE = 4
_BOOT = f"import sys; sys.path.append(sys.argv[1]); from {__name__} import serve; serve()"
#: Memory is limited as address space, so nothing may reserve more than it uses.
_FRUGAL = {"MALLOC_ARENA_MAX": "2"} | dict.fromkeys(
    ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1"
)
_CRASHES = (-signal.SIGSEGV, -signal.SIGABRT, -signal.SIGBUS, -signal.SIGILL)
_Result = TypeVar("_Result")


@dataclass(frozen=True)
class Limits:
    """The limits of one call."""

    cpu_s: int = 10
    """An ordinary answer takes milliseconds to parse; the worst that parses takes seconds."""
    wall_s: int = 120
    """Wall time of each reply, in case the machine has no time for the child."""
    memory_bytes: int = 2048 * MIB
    """Address space of the child, where the system has such a limit (macOS has none)."""
    reply_bytes: int = 64 * MIB
    """Size of the result as JSON."""


DEFAULT_LIMITS = Limits()


def call_on_answer(function: Callable[..., _Result], *arguments: Any) -> _Result:
    """Call a function that parses a model's answer in a child.

    Raises:
        MalformedAnswerError: the function refused the answer, or the answer made the child reach a
            limit or crash.
        InfraError: no child could be started, or the machine had no time for it.
    """
    try:
        return call_limited(function, *arguments)
    except InputError as error:
        raise MalformedAnswerError(str(error)) from None


def call_limited(
    function: Callable[..., _Result], *arguments: Any, limits: Limits | None = None
) -> _Result:
    """Return `function(*arguments)`, computed in a child.

    Args:
        function: a function of a module whose arguments and result are JSON.
        limits: a child with limits of its own serves this call alone.

    Raises:
        InputError: the function raised it, or the input made the child reach a limit or crash.
        InfraError: no child could be started, or the machine had no time for it.
    """
    request = {
        "root": _import_root(function.__module__),
        "module": function.__module__,
        "name": function.__qualname__,
        "arguments": arguments,
    }
    server = _Server(limits) if limits else _idle_server()
    reply = None
    try:
        server.send(request)
        reply = server.receive()
    except TimeoutError:
        reason = f"a child process took more than {server.limits.wall_s} s"
        raise InfraError(f"{reason}: the machine is too busy; use fewer workers") from None
    finally:
        # Without a reply its state is unknown.
        if reply is None or limits or len(_idle) >= MAX_IDLE:
            server.child.kill()
        else:
            _idle.append(server)
    kind, value = reply
    if kind == "refused":
        raise InputError(value)
    if kind == "bug":
        raise RuntimeError(value)
    return cast(_Result, value)


def _import_root(module: str) -> str:
    """Return the folder from which a module was imported by its full name."""
    file = Path(str(sys.modules[module].__file__)).resolve()
    return str(file.parents[module.count(".")])


class _Server:
    """A child that answers one request after the other."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        arguments = [_import_root(__name__), json.dumps(asdict(limits))]
        command = [sys.executable, "-P", "-c", _BOOT, *arguments]
        try:
            self.child = Child(command, environment=clean_environment() | _FRUGAL)
        except OSError as error:
            raise InfraError(
                f"cannot start a child process: {error.strerror}; free memory or processes"
            ) from error

    def send(self, request: Mapping[str, Any]) -> None:
        with contextlib.suppress(BrokenPipeError):  # the reply is missing, too
            self.child.send(frame(json.dumps(request).encode("ascii")), self._deadline())

    def receive(self) -> tuple[str, Any]:
        """Return kind and value of the reply."""
        limits = self.limits
        try:
            data = self.child.read_frame(limits.reply_bytes, self._deadline())
        except OverflowError:
            raise InputError(f"expands to more than {limits.reply_bytes // MIB} MiB") from None
        if data is not None:
            kind, value = json.loads(data)
            return kind, value
        status = self.child.process.wait()
        if status == -signal.SIGXCPU:
            raise InputError(f"reading it takes more than {limits.cpu_s} s of CPU time")
        if status in _CRASHES:
            raise InputError(f"reading it crashes the process ({describe_status(status)})")
        ending = describe_status(status)
        raise InfraError(
            f"a child process ended by itself ({ending}); is the machine short of memory?"
        )

    def _deadline(self) -> float:
        return time.monotonic() + self.limits.wall_s


#: The servers with default limits that wait for a request.
_idle: deque[_Server] = deque()


def _idle_server() -> _Server:
    with contextlib.suppress(IndexError):
        while True:
            server = _idle.pop()
            if server.child.process.poll() is None:
                return server
            server.child.kill()
    return _Server(DEFAULT_LIMITS)


def close_idle() -> None:
    """End all idle children."""
    while _idle:
        _idle.pop().child.kill()


atexit.register(close_idle)
if hasattr(os, "register_at_fork"):  # two processes must not write to one pipe
    os.register_at_fork(after_in_child=_idle.clear)


# --- in the child ---


def serve() -> None:
    """Answer requests from stdin until it ends."""
    limits = Limits(**json.loads(sys.argv[2]))
    replies = take_stdout()
    limit_resources(limits.memory_bytes)
    while (data := receive_frame()) is not None:
        limit_cpu(limits.cpu_s)
        replies.write(frame(_reply(json.loads(data), limits)))
        replies.flush()


def _reply(request: Mapping[str, Any], limits: Limits) -> bytes:
    if request["root"] not in sys.path:
        sys.path.append(request["root"])
    try:
        function = getattr(importlib.import_module(request["module"]), request["name"])
        reply = "value", function(*request["arguments"])
    except InputError as error:
        reply = "refused", str(error)
    except MemoryError:
        reply = "refused", f"needs more than {limits.memory_bytes // MIB} MiB of memory to read"
    except RecursionError:
        reply = "refused", "is nested too deeply to be read"
    except Exception as error:
        reply = "bug", f"{type(error).__name__}: {error}"
    return json.dumps(reply).encode("ascii")
