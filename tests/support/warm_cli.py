"""Run Python commands in separate processes that start with large libraries imported: a warm `subprocess.run`.

Each test process has a server that imports the libraries once and forks for each command. The fork behaves like any
process: it has its own directory, environment, arguments, standard streams and exit status, and receives signals. The
server imports nothing of this project, and no library that reads `LATE` variables on import (`huggingface_hub`,
`datasets`). A fork cannot have its own hash seed or interpreter variables, so a command whose variables differ beyond
`LATE` starts cold.
"""

import atexit
import contextlib
import faulthandler
import functools
import importlib
import io
import json
import os
import runpy
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import types
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

#: Prefixes of the variables that are read after the fork.
#: torch sets `KMP_` in the process that imports it.
LATE = ("HF_", "LMRBENCH_", "OPENAI_", "NO_PROXY", "DOCKER_HOST", "COLUMNS", "TERM", "PYTEST_", "KMP_")
#: The other variables before any test changes them; the server starts with these.
EARLY = {name: value for name, value in os.environ.items() if not name.startswith(LATE)}
#: Slow imports of the commands, direct or indirect.
LIBRARIES = (
    *("typer", "rich.table", "rich.progress", "jinja2", "jsonschema", "yaml", "filelock", "numpy", "pandas"),
    *("pyarrow.parquet", "pyarrow.dataset", "pyarrow.json", "fsspec.asyn", "fsspec.archive", "dill", "xxhash"),
    *("fsspec.implementations.local", "fsspec.implementations.dirfs", "multiprocess.pool", "multiprocessing.pool"),
    *("httpx", "openai", "docker", "tqdm.auto", "tqdm.contrib.concurrent", "unittest.mock", "xml.dom.minidom"),
)


def run(
    command: Sequence[object],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    capture_output: bool = False,
    stdout: Any = subprocess.PIPE,
    stderr: Any = subprocess.PIPE,
    text: bool = False,
    errors: str = "strict",
    timeout: float = 120,
) -> subprocess.CompletedProcess[Any]:
    """Behave like `subprocess.run` with `[".../lmrbench", ...]` or `[sys.executable, "-c", program, ...]`.

    Args:
        capture_output: has no effect, since pipes are the default.
        stdout, stderr: a file or descriptor to write to instead of a pipe.
    """
    words = [os.fspath(word) for word in command]  # type: ignore[call-overload]
    environment = dict(os.environ if env is None else env)
    if {name: value for name, value in environment.items() if not name.startswith(LATE)} != EARLY:
        return subprocess.run(
            words, cwd=cwd, env=environment, stdout=stdout, stderr=stderr, text=text, errors=errors if text else None,
            timeout=timeout, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    with contextlib.ExitStack() as stack:
        theirs: list[int] = []
        ours: list[int | None] = []
        for stream in (stdout, stderr):
            if stream != subprocess.PIPE:
                theirs.append(stream if isinstance(stream, int) else stream.fileno())
                ours.append(None)
                continue
            reader, writer = os.pipe()
            stack.callback(os.close, reader)
            theirs.append(writer)
            ours.append(reader)
        job = {"words": [_text(word) for word in words], "cwd": _text(cwd or os.getcwd()), "env": environment}
        connection = stack.enter_context(socket.socket(socket.AF_UNIX))
        connection.connect(_server())
        # The descriptors go with the first byte; the rest is the job.
        socket.send_fds(connection, [b"\0"], theirs)
        for number, writer in enumerate(theirs):
            if ours[number] is not None:
                os.close(writer)
        connection.sendall(json.dumps(job).encode() + b"\n")
        read = [_Reader(reader) for reader in ours if reader is not None]
        connection.settimeout(timeout)
        answers = connection.makefile()
        process = int(answers.readline())
        try:
            status = int(answers.readline())
        except TimeoutError:
            os.kill(process, signal.SIGKILL)
            raise subprocess.TimeoutExpired(words, timeout) from None
        outputs = iter([reader.result() for reader in read])
    shown = [None if reader is None else next(outputs) for reader in ours]
    if text:
        shown = [None if data is None else _lines(data, errors) for data in shown]
    return subprocess.CompletedProcess(words, status, *shown)


class _Reader(threading.Thread):
    """Reads a pipe to its end."""

    def __init__(self, descriptor: int) -> None:
        super().__init__(daemon=True)
        self._descriptor, self._data = descriptor, b""
        self.start()

    def run(self) -> None:
        while chunk := os.read(self._descriptor, 1 << 16):
            self._data += chunk

    def result(self) -> bytes:
        self.join()
        return self._data


def _text(name: Any) -> str:
    """Return a file name as text that JSON can carry."""
    return os.fsdecode(name)


def _lines(data: bytes, errors: str) -> str:
    return io.TextIOWrapper(io.BytesIO(data), errors=errors).read()


@functools.cache
def _server() -> str:
    """Return the address of the server, which lives as long as this process."""
    folder = tempfile.mkdtemp(prefix="warm-")
    address = os.path.join(folder, "socket")
    # The server ends when its standard input does. Ctrl-C ends this process and thereby the server.
    process = subprocess.Popen(
        [sys.executable, __file__, address],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=EARLY,
        start_new_session=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    atexit.register(process.wait)
    atexit.register(process.stdin.close)
    assert process.stdout.readline() == b"ready\n"
    process.stdout.close()
    return address


# --- in the server ----------------------------------------------------------------------------------------------------


def serve(address: str) -> None:
    """Fork for each job until standard input ends. Returns in each command's process once it is set up."""
    for name in LIBRARIES:
        importlib.import_module(name)
    early = [name for name in ("huggingface_hub", "datasets", "lmrbench_data") if name in sys.modules]
    assert not early, f"{early} would not see the environment of the command"
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen(64)
    os.write(1, b"ready\n")
    with selectors.DefaultSelector() as selector:
        selector.register(listener, selectors.EVENT_READ)
        selector.register(0, selectors.EVENT_READ)
        while any(key.fileobj == 0 for key, _ in selector.select()) is False:
            connection, _ = listener.accept()
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            if os.fork() == 0:
                listener.close()
                break
            connection.close()
        else:
            os.remove(address)
            os.rmdir(os.path.dirname(address))
            os._exit(0)
    _become_command(connection)


def _become_command(connection: socket.socket) -> None:
    """Start the command's process; its parent stays to report the exit status."""
    _, descriptors, _, _ = socket.recv_fds(connection, 1, 2)
    job = json.loads(connection.makefile().readline())
    process = os.fork()
    if process:
        for descriptor in descriptors:
            os.close(descriptor)
        connection.sendall(f"{process}\n".encode())
        ended = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        with contextlib.suppress(BrokenPipeError):
            connection.sendall(f"{ended}\n".encode())
        os._exit(0)
    connection.close()
    null = os.open(os.devnull, os.O_RDWR)
    for number, descriptor in enumerate((null, *descriptors)):
        os.dup2(descriptor, number)
    for descriptor in (null, *descriptors):
        os.close(descriptor)
    os.chdir(job["cwd"])
    os.environ.clear()
    os.environ.update(job["env"])
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        usual = getattr(sys, name)  # encoding and buffering as Python chose them for the server
        stream = open(number, usual.mode, encoding=usual.encoding, errors=usual.errors, closefd=False)  # noqa: SIM115
        stream.reconfigure(line_buffering=usual.line_buffering, write_through=usual.write_through)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    sys.argv = job["words"]


def command() -> None:
    """Run the command line in `sys.argv` as Python does."""
    if sys.argv[1:2] == ["-c"]:
        [_, _, program, *arguments] = sys.argv
        sys.argv, sys.path[0] = ["-c", *arguments], ""
        sys.modules["__main__"] = module = types.ModuleType("__main__")
        exec(compile(program, "<string>", "exec"), vars(module))
    else:
        sys.path[0] = os.path.dirname(sys.argv[0])
        runpy.run_path(sys.argv[0], run_name="__main__")


def end(status: int) -> None:
    """End a Python process without the invisible clean-up of each library."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
    except (OSError, ValueError) as error:
        if not sys.stdout.closed:
            print(f"Exception ignored in: {sys.stdout}\n{type(error).__name__}: {error}", file=sys.stderr)
            status = 120
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    faulthandler.enable()  # report where a command dies of a signal
    serve(sys.argv[1])
    try:
        command()
    except SystemExit as stop:
        if isinstance(stop.code, str):
            print(stop.code, file=sys.stderr)
        end(stop.code if isinstance(stop.code, int) else int(stop.code is not None))
    except BaseException as error:
        trace = error.__traceback__
        while trace and trace.tb_frame.f_code.co_filename in (__file__, "<frozen runpy>"):
            trace = trace.tb_next
        sys.excepthook(type(error), error.with_traceback(trace), trace)
        end(1)
    end(0)
