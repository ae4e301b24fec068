"""Run a child process with pipes, deadlines and resource limits; kill it with its process group.

The child sets the limits itself before it reads any input: code between fork and exec is unsafe in
a threaded process.
"""

import contextlib
import math
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, Self

_READ_BYTES = 2**20
#: Variables that every child gets: enough to run programs and import libraries, no token.
_KEPT = (
    "PATH",
    "PYTHONPATH",
    "PYTHONHOME",
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
    "LANG",
    "TMPDIR",
)


class Child:
    """A process in a new session; a context manager that kills it and its process group.

    A Ctrl-C in the terminal does not reach it: the parent decides when it ends. Deadlines are in
    `time.monotonic()`.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        folder: Path | None = None,
        stderr: int = subprocess.DEVNULL,
        pass_fds: Sequence[int] = (),
        user: int | None = None,
    ) -> None:
        """Start the process.

        Args:
            pass_fds: file descriptors that it inherits.
            user: user and group to run it as, which only root can choose; by default those of this
                process.

        Raises:
            OSError: the system cannot start it.
        """
        self.process = subprocess.Popen(
            command,
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            cwd=folder,
            env=environment,
            start_new_session=True,
            pass_fds=pass_fds,
            user=user,
            group=user,
            extra_groups=None if user is None else (),
        )
        assert self.process.stdin is not None
        os.set_blocking(self.process.stdin.fileno(), False)
        self._buffer = bytearray()
        self._killed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def send(self, data: bytes, deadline: float) -> None:
        """Write to stdin.

        Raises:
            BrokenPipeError: the child does not read any more.
            TimeoutError: the child did not read everything in time.
        """
        assert self.process.stdin is not None
        pipe, rest = self.process.stdin.fileno(), memoryview(data)
        while rest:
            _wait(pipe, select.POLLOUT, deadline)
            rest = rest[os.write(pipe, rest) :]

    def read_frame(self, max_bytes: int, deadline: float) -> bytes | None:
        """Return the next frame that the child wrote to stdout; None at the end of the stream.

        Raises:
            OverflowError: the frame is larger than `max_bytes`.
            TimeoutError: the frame did not arrive in time.
        """
        header = self._read(8, deadline)
        size = int.from_bytes(header, "big")
        if size > max_bytes:
            raise OverflowError(f"a frame of {size} bytes")
        data = self._read(size, deadline)
        return data if len(header) == 8 and len(data) == size else None

    def _read(self, size: int, deadline: float) -> bytes:
        """Return `size` bytes; fewer at the end of the stream."""
        assert self.process.stdout is not None
        pipe = self.process.stdout.fileno()
        while len(self._buffer) < size:
            _wait(pipe, select.POLLIN, deadline)
            piece = os.read(pipe, _READ_BYTES)
            if not piece:
                break
            self._buffer += piece
        data = bytes(self._buffer[:size])
        del self._buffer[:size]
        return data

    def kill(self) -> None:
        """Kill the process group, close the pipes and wait for the process."""
        if self._killed:  # the pid may have been reused
            return
        self._killed = True
        # macOS raises PermissionError if only a zombie is left.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        self.process.wait()


def _wait(pipe: int, event: int, deadline: float) -> None:
    """Wait for a pipe; a thread that watches the clock would cost more than an ordinary answer."""
    poll = select.poll()
    poll.register(pipe, event)
    if not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
        raise TimeoutError


def clean_environment(*more: str) -> dict[str, str]:
    """Return the environment variables that every child needs and those named, without secrets."""
    return {name: os.environ[name] for name in (*_KEPT, *more) if name in os.environ}


def describe_status(status: int) -> str:
    """Describe how a process ended, given its return code from `subprocess`."""
    if status == -signal.SIGXCPU:
        return "CPU time limit"
    if status >= 0:
        return f"exit status {status}"
    try:
        return signal.Signals(-status).name
    except ValueError:
        return f"signal {-status}"


def frame(data: bytes) -> bytes:
    """Return data as it is sent through a pipe: its length in eight bytes, then the data."""
    return len(data).to_bytes(8, "big") + data


# --- in the child ---


def take_stdout() -> BinaryIO:
    """Return a private stream to the parent; all other output goes to stderr."""
    stream = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return stream


def receive_frame() -> bytes | None:
    """Return the next frame from stdin; None at the end."""
    header = sys.stdin.buffer.read(8)
    size = int.from_bytes(header, "big")
    data = sys.stdin.buffer.read(size)
    return data if len(header) == 8 and len(data) == size else None


def limit_resources(memory_bytes: int) -> None:
    """Limit the address space of this process (macOS cannot), and switch off core dumps."""
    import resource

    _set_limit(resource.RLIMIT_AS, memory_bytes)
    _set_limit(resource.RLIMIT_CORE, 0)


def limit_cpu(seconds: float) -> None:
    """Let this process use this much more CPU time; SIGXCPU ends it. A later call replaces it."""
    import resource

    _set_limit(resource.RLIMIT_CPU, math.ceil(time.process_time() + seconds), can_be_raised=True)


def _set_limit(kind: int, limit: int, *, can_be_raised: bool = False) -> None:
    import resource

    hard = resource.getrlimit(kind)[1]
    soft = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(kind, (soft, hard if can_be_raised else soft))
