"""Call a function on a stranger's text in a child process, which is killed if it takes too long or too much memory.

Python's parser holds the interpreter's lock while it works, so that nothing inside the process can stop it. Children
are kept and used again, one for each thread that calls; each ends with the pipe that it reads from.
"""

import atexit
import contextlib
import importlib
import json
import math
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, TypeVar

from .errors import InfraError, LMRBenchError
from .source import MalformedAnswerError, SourceError

#: Of one call: seconds of CPU time. An ordinary answer takes milliseconds; the worst that parses takes seconds.
CPU_S = 10
#: Of one call: seconds by the clock, should the machine have no time for the child.
WALL_S = 120
#: Of a child, where the system has such a limit (macOS has none).
MEMORY_BYTES = 2 * 1024**3
MAX_IDLE = 4
_Result = TypeVar("_Result")
_BOOT = "import sys; sys.path.insert(0, sys.argv[1]); from lmrbench_data.base.child import serve; serve()"


def call_killable(function: Callable[..., _Result], *arguments: Any) -> _Result:
    """`function(*arguments)`, worked out in a child.

    Args:
        function: a function of one of our packages; what it takes and returns is JSON.

    Raises:
        MalformedAnswerError: the function raised a SourceError, or the child met a limit or crashed.
        InfraError: no child could be started, or the machine had no time for it.
    """
    package = sys.modules[function.__module__.partition(".")[0]]
    question = {
        "root": str(Path(str(package.__file__)).resolve().parents[1]),
        "module": function.__module__,
        "name": function.__qualname__,
        "arguments": arguments,
    }
    child = _children.take()
    try:
        reply = child.ask(question)
    except BaseException:
        child.kill()
        raise
    _children.put_back(child)
    if "malformed" in reply:
        raise MalformedAnswerError(reply["malformed"])
    if "bug" in reply:
        raise RuntimeError(reply["bug"])
    result: _Result = reply["result"]
    return result


class _Child:
    """A process that answers one question after the other."""

    def __init__(self) -> None:
        root = str(Path(__file__).resolve().parents[2])
        try:
            # A session of its own: Ctrl-C in a terminal is for us, and we decide when the child ends.
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-c", _BOOT, root],
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as error:
            raise InfraError(f"no process to parse answers in: {error.strerror}; free memory or processes") from error
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._questions, self._replies = self._process.stdin.fileno(), self._process.stdout.fileno()
        os.set_blocking(self._questions, False)

    def ask(self, question: dict[str, Any]) -> dict[str, Any]:
        """The reply to a question.

        Raises:
            MalformedAnswerError: the child died of the question.
            InfraError: it died of something else.
        """
        until = time.monotonic() + WALL_S
        try:
            self._send(_framed(question), until)
            reply = self._receive(until)
        except OSError:  # the pipe broke: it is dead
            reply = None
        if reply is not None:
            return reply
        ended = self._process.wait()
        if ended == -signal.SIGXCPU:
            raise MalformedAnswerError(f"Python's parser needs more than {CPU_S} s for the answer")
        if ended in (-signal.SIGSEGV, -signal.SIGABRT, -signal.SIGBUS, -signal.SIGILL):
            raise MalformedAnswerError(f"Python's parser crashes on the answer ({signal.Signals(-ended).name})")
        raise InfraError(f"the process that parses answers ended by itself (status {ended}); is memory short?")

    def _send(self, data: bytes, until: float) -> None:
        rest = memoryview(data)
        while rest:
            _wait(self._questions, select.POLLOUT, until)
            rest = rest[os.write(self._questions, rest) :]

    def _receive(self, until: float) -> dict[str, Any] | None:
        """The next message; None at the end."""
        size = int.from_bytes(self._read(8, until) or bytes(8), "big")
        data = self._read(size, until) if size else b""
        return json.loads(data) if data else None

    def _read(self, size: int, until: float) -> bytes:
        """So many bytes; none if the pipe ends before."""
        data = bytearray()
        while len(data) < size:
            _wait(self._replies, select.POLLIN, until)
            piece = os.read(self._replies, size - len(data))
            if not piece:
                return b""
            data += piece
        return bytes(data)

    def alive(self) -> bool:
        return self._process.poll() is None

    def kill(self) -> None:
        self._process.kill()
        self.close()

    def close(self) -> None:
        """End it: without questions it stops by itself."""
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                if pipe is not None:
                    pipe.close()
        self._process.wait()


def _wait(pipe: int, event: int, until: float) -> None:
    """Wait for a pipe, without a thread that watches the clock: starting one costs more than an ordinary answer.

    Raises:
        InfraError: the clock has run out.
    """
    poll = select.poll()
    poll.register(pipe, event)
    if not poll.poll(max(0.0, until - time.monotonic()) * 1000):
        raise InfraError(f"an answer was not parsed within {WALL_S} s: the machine is too busy; use fewer workers")


class _Children:
    """Those that are idle."""

    def __init__(self) -> None:
        self.reset()
        atexit.register(self.close)
        if hasattr(os, "register_at_fork"):  # two processes must not talk into one pipe
            os.register_at_fork(after_in_child=self.reset)

    def reset(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[_Child] = []

    def take(self) -> _Child:
        while True:
            with self._lock:
                child = self._idle.pop() if self._idle else None
            if child is None:
                return _Child()
            if child.alive():
                return child
            child.close()

    def put_back(self, child: _Child) -> None:
        with self._lock:
            if len(self._idle) < MAX_IDLE:
                self._idle.append(child)
                return
        child.close()

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for child in idle:
            child.kill()


_children = _Children()


# --- in the child -----------------------------------------------------------------------------------------------------


def serve() -> None:
    """Answer questions from standard input until it ends."""
    import resource

    questions, replies = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # nothing that is called can write into the replies
    # macOS refuses it; a core dump of a crash would be of no use.
    for limit, most in ((resource.RLIMIT_AS, MEMORY_BYTES), (resource.RLIMIT_CORE, 0)):
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(limit, (most, resource.getrlimit(limit)[1]))
    while (question := _read(questions)) is not None:
        spent = math.ceil(time.process_time())
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_CPU, (spent + CPU_S, resource.getrlimit(resource.RLIMIT_CPU)[1]))
        replies.write(_framed(_answer(question)))
        replies.flush()


def _answer(question: dict[str, Any]) -> dict[str, Any]:
    if question["root"] not in sys.path:
        sys.path.append(question["root"])
    try:
        function = getattr(importlib.import_module(question["module"]), question["name"])
        return {"result": function(*question["arguments"])}
    except SourceError as error:
        return {"malformed": str(error)}
    except (MemoryError, RecursionError) as error:
        return {"malformed": f"cannot be parsed: {type(error).__name__}"}
    except LMRBenchError:
        raise
    except Exception as error:
        return {"bug": f"{type(error).__name__}: {error}"}


def _framed(message: dict[str, Any]) -> bytes:
    """A message as it goes through a pipe: its length in eight bytes, and itself."""
    data = json.dumps(message).encode("ascii")
    return len(data).to_bytes(8, "big") + data


def _read(pipe: IO[bytes]) -> dict[str, Any] | None:
    """The next message; None at the end."""
    size = int.from_bytes(pipe.read(8) or bytes(8), "big")
    data = pipe.read(size) if size else b""
    if not data or len(data) < size:
        return None
    message: dict[str, Any] = json.loads(data)
    return message
