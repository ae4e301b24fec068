"""Call a function on untrusted input in a child process with limits on memory and time.

Python's parser holds the interpreter's lock while it works, so nothing inside a process can stop it. Children with the
default limits are kept and reused, one per calling thread; each ends with the pipe that it reads from.
"""

import atexit
import contextlib
import importlib
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

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

MAX_IDLE = 4
_BOOT = "import sys; sys.path.insert(0, sys.argv[1]); from lmrbench_data.base.child_calls import serve; serve()"
_CRASHES = (-signal.SIGSEGV, -signal.SIGABRT, -signal.SIGBUS, -signal.SIGILL)
_Result = TypeVar("_Result")


@dataclass(frozen=True)
class CallLimits:
    """The limits of one call."""

    cpu_s: int = 10
    """An ordinary answer takes milliseconds to parse; the worst that parses takes seconds."""
    wall_s: int = 120
    """For a machine that has no time for the child."""
    memory_bytes: int = 2 * 1024**3
    """Address space of the child, where the system has such a limit (macOS has none)."""
    reply_bytes: int = 64 * 1024**2


DEFAULT_LIMITS = CallLimits()


def call_on_answer(function: Callable[..., _Result], *arguments: Any) -> _Result:
    """Call a function that parses a model's answer in a child.

    Raises:
        MalformedAnswerError: the function refused the answer, or the answer made the child reach a limit or crash.
        InfraError: no child could be started, or the machine had no time for it.
    """
    try:
        return call_in_child(function, *arguments)
    except InputError as error:
        raise MalformedAnswerError(str(error)) from None


def call_in_child(function: Callable[..., _Result], *arguments: Any, limits: CallLimits | None = None) -> _Result:
    """Return `function(*arguments)`, computed in a child.

    Args:
        function: a function of one of our packages whose arguments and result are JSON.
        limits: a child with limits of its own serves this call alone.

    Raises:
        InputError: the function raised it, or the input made the child reach a limit or crash.
        InfraError: no child could be started, or the machine had no time for it.
    """
    package = sys.modules[function.__module__.partition(".")[0]]
    request = {
        "root": str(Path(str(package.__file__)).resolve().parents[1]),
        "module": function.__module__,
        "name": function.__qualname__,
        "arguments": arguments,
    }
    server = _Server(limits) if limits else _idle.take()
    try:
        reply = server.ask(request)
    except BaseException:
        server.child.kill()
        raise
    if limits:
        server.child.kill()
    else:
        _idle.put_back(server)
    if "refused" in reply:
        raise InputError(reply["refused"])
    if "bug" in reply:
        raise RuntimeError(reply["bug"])
    result: _Result = reply["result"]
    return result


class _Server:
    """A child that answers one request after the other."""

    def __init__(self, limits: CallLimits) -> None:
        self._limits = limits
        root = str(Path(__file__).resolve().parents[2])
        command = [sys.executable, "-I", "-c", _BOOT, root, json.dumps(asdict(limits))]
        try:
            self.child = Child(command, environment=clean_environment())
        except OSError as error:
            raise InfraError(f"cannot start a child process: {error.strerror}; free memory or processes") from error

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the reply to a request.

        Raises:
            InputError: the input made the child reach a limit or crash.
            InfraError: the child ended for another reason, or the machine had no time for it.
        """
        limits = self._limits
        deadline = time.monotonic() + limits.wall_s
        try:
            with contextlib.suppress(BrokenPipeError):  # it has ended, and the reply is missing too
                self.child.send(frame(json.dumps(request).encode("ascii")), deadline)
            data = self.child.read_frame(limits.reply_bytes, deadline)
        except TimeoutError:
            reason = f"a child process took more than {limits.wall_s} s"
            raise InfraError(f"{reason}: the machine is too busy; use fewer workers") from None
        except OverflowError:
            raise InputError(f"reading it yields more than {limits.reply_bytes >> 20} MiB") from None
        if data is not None:
            reply: dict[str, Any] = json.loads(data)
            return reply
        status = self.child.process.wait()
        if status == -signal.SIGXCPU:
            raise InputError(f"reading it takes more than {limits.cpu_s} s of CPU time")
        if status in _CRASHES:
            raise InputError(f"reading it crashes the process ({describe_status(status)})")
        raise InfraError(
            f"a child process ended by itself ({describe_status(status)}); is the machine short of memory?"
        )


class _IdleServers:
    """The servers with default limits that wait for a request."""

    def __init__(self) -> None:
        self.reset()
        atexit.register(self.close)
        if hasattr(os, "register_at_fork"):  # two processes must not write to one pipe
            os.register_at_fork(after_in_child=self.reset)

    def reset(self) -> None:
        self._lock = threading.Lock()
        self._servers: list[_Server] = []

    def take(self) -> _Server:
        """Return an idle server, or a new one."""
        while True:
            with self._lock:
                server = self._servers.pop() if self._servers else None
            if server is None:
                return _Server(DEFAULT_LIMITS)
            if server.child.is_running():
                return server
            server.child.kill()

    def put_back(self, server: _Server) -> None:
        """Keep a server for the next call, unless there are enough."""
        with self._lock:
            if len(self._servers) < MAX_IDLE:
                self._servers.append(server)
                return
        server.child.kill()

    def close(self) -> None:
        """End all idle servers."""
        with self._lock:
            servers, self._servers = self._servers, []
        for server in servers:
            server.child.kill()


_idle = _IdleServers()


# --- in the child -----------------------------------------------------------------------------------------------------


def serve() -> None:
    """Answer requests from stdin until it ends."""
    limits = CallLimits(**json.loads(sys.argv[2]))
    replies = take_stdout()
    limit_resources(limits.memory_bytes)
    while (request := receive_frame()) is not None:
        limit_cpu(limits.cpu_s)
        replies.write(frame(json.dumps(_reply(json.loads(request))).encode("ascii")))
        replies.flush()


def _reply(request: dict[str, Any]) -> dict[str, Any]:
    if request["root"] not in sys.path:
        sys.path.append(request["root"])
    try:
        function = getattr(importlib.import_module(request["module"]), request["name"])
        return {"result": function(*request["arguments"])}
    except InputError as error:
        return {"refused": str(error)}
    except (MemoryError, RecursionError) as error:
        return {"refused": f"reading it fails ({type(error).__name__})"}
    except Exception as error:
        return {"bug": f"{type(error).__name__}: {error}"}
