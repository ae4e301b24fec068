"""Run workspaces in a child process of this machine: rlimits, a scrubbed environment, a temporary folder.

This is not a security boundary: tested code runs as this user and can reach files and network. It serves machines
without an engine and quick work on trusted tasks; results say `local`, and no leaderboard accepts them.

Starting and killing the child is `base.child`'s job. The rest differs from other children: the run is limited by CPU
time that `meter` measures from outside, and by rlimits that are set after the workspace has been unpacked.
"""

import contextlib
import json
import logging
import os
import platform
import re
import selectors
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from lmrbench_data.base.child import Child, describe_status
from lmrbench_data.base.errors import InfraError
from lmrbench_data.tasks.environments import known_environments

from ..runner import bootstrap, probe
from .base import START_S, Ended, Limits, Outcome, Sandbox
from .meter import Meter
from .runner_output import collect_output, make_outcome

#: An environment variable of all processes of a run, by which stragglers are found.
_MARK = "LMRBENCH_LOCAL_SANDBOX"
_log = logging.getLogger(__name__)


class LocalSandbox(Sandbox):
    """The child processes of one harness process."""

    name = "local"
    official = False

    def __init__(self, benchmark: Path | None = None, *, user: int | None = None) -> None:
        """Prepare the sandbox; no process is started yet.

        Args:
            benchmark: a folder of tasks whose environments are known in addition to the installed ones.
            user: user and group to run tested code as, which only root can choose; nobody else may use this number. By
                default, tested code runs as this user.
        """
        self._benchmark = benchmark
        self._user = user
        self._running: set[str] = set()
        self._lock = threading.Lock()
        self._closed = False

    def prepare(self, tag: str) -> str:
        """Check that this Python has the environment's packages; return their versions as the identity."""
        name = tag.partition("/")[2].partition(":")[0]
        known = known_environments(self._benchmark)
        environment = next((item for item in known if tag == item.tag), None)
        environment = environment or next((item for item in known if name == item.name), None)
        if environment is None:
            raise InfraError(f"environment {name!r} is not in this installation; use the docker sandbox, or upgrade")
        found, missing, other = [f"python {platform.python_version()}"], [], []
        for requirement in environment.packages():
            package, _, version = requirement.partition("==")
            try:
                installed = metadata.version(package).partition("+")[0]
            except metadata.PackageNotFoundError:
                missing.append(requirement)
                continue
            found.append(f"{package} {installed}")
            if installed != version:
                other.append(f"{package} {installed} instead of {version}")
        if missing:
            raise InfraError(
                f"the local sandbox lacks {', '.join(missing)}; "
                "run `pip install 'lmrbench-data[local]'` or start Docker"
            )
        if other:
            _log.warning("this Python has %s; results may differ from those in the image", ", ".join(other))
        return "; ".join(found)

    def run(self, image: str, workspace: bytes, limits: Limits) -> Outcome:
        """Run one workspace in a process group of its own."""
        mark = uuid.uuid4().hex
        with self._lock:
            if self._closed:
                raise InfraError("the sandbox was closed")
            self._running.add(mark)
        try:
            folder = Path(tempfile.mkdtemp(prefix="lmrbench-"))
            try:
                if self._user is not None:
                    os.chown(folder, self._user, self._user)
                return self._run(workspace, limits, folder, mark)
            finally:
                kill_marked(mark, self._user)
                # Not `shutil.rmtree`: tested code can nest folders more deeply than Python recurses.
                subprocess.run(["rm", "-rf", str(folder)], stderr=subprocess.DEVNULL, check=False)
        except OSError as error:
            raise InfraError(f"local sandbox: {error}") from error
        finally:
            with self._lock:
                self._running.discard(mark)

    def close(self) -> None:
        """Kill all runs."""
        with self._lock:
            self._closed = True
            marks = list(self._running)
        for mark in marks:
            kill_marked(mark, self._user)

    def _run(self, workspace: bytes, limits: Limits, folder: Path, mark: str) -> Outcome:
        rlimits = {
            "RLIMIT_DATA": limits.memory_mb * 2**20,
            "RLIMIT_FSIZE": limits.disk_mb * 2**20,
            "RLIMIT_CORE": 0,
            "RLIMIT_NOFILE": 1024,
        }
        command = [sys.executable, "-I", "-c", bootstrap(), str(len(workspace)), str(folder), json.dumps(rlimits)]
        environment = {"PATH": os.defpath, "LANG": "C.UTF-8", _MARK: mark}
        pipe = subprocess.PIPE
        with Child(command, environment=environment, folder=folder, stderr=pipe, user=self._user) as child:
            meter = Meter(limits, lambda: _cpu_seconds(child.process.pid, mark, self._user), _share)
            if self._closed:  # while the process was being started
                raise InfraError("the sandbox was closed")
            # A runner that does not read its workspace does not send its first line either.
            with contextlib.suppress(BrokenPipeError, TimeoutError):
                child.send(workspace, time.monotonic() + START_S)
                child.close_stdin()
            stdout, log, ended = _read(child.process, meter, limits)
            duration = meter.elapsed()
        if self._closed:
            raise InfraError("the sandbox was closed")
        problem = f"{describe_status(child.process.returncode)} after {duration:.0f} s: {log.strip()[-300:]}"
        return make_outcome(stdout, log, ended, duration, meter, problem)


def _read(process: subprocess.Popen[bytes], meter: Meter, limits: Limits) -> tuple[bytearray, str, Ended]:
    """Read stdout and stderr until both end, the runner is gone, or a limit is reached."""
    assert process.stdout is not None
    assert process.stderr is not None
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        selector.register(process.stderr, selectors.EVENT_READ)

        def receive(timeout_s: float) -> list[tuple[bool, bytes]] | None:
            is_gone = process.poll() is not None  # asked before the last read: its last words precede its end
            ready = selector.select(0 if is_gone else min(timeout_s, 0.5)) if selector.get_map() else []
            pieces = []
            for key, _ in ready:
                if data := os.read(key.fd, 1 << 18):
                    pieces.append((key.fileobj is process.stdout, data))
                else:
                    selector.unregister(key.fileobj)
            # A straggler may hold the pipes open after the runner is gone.
            return None if (not selector.get_map() and not pieces) or (is_gone and not ready) else pieces

        return collect_output(receive, meter, limits)


def kill_marked(mark: str, user: int | None = None) -> None:
    """Kill every process of a run, including those that left its session (Linux; elsewhere they time out)."""
    for _ in range(5):
        found = False
        for process in _marked(mark, user):
            with contextlib.suppress(OSError):
                os.kill(process, signal.SIGKILL)
                found = True
        if not found:
            return
        time.sleep(0.02)


def _marked(mark: str, user: int | None) -> Iterator[int]:
    """Yield the processes of a run: those of its own user, or else those whose environment this user may read."""
    if user is not None:
        for path in Path("/proc").glob("[0-9]*/status"):
            with contextlib.suppress(OSError):
                if re.search(rf"^Uid:\t{user}\t", path.read_text(errors="replace"), re.MULTILINE):
                    yield int(path.parent.name)
        return
    needle = f"{_MARK}={mark}".encode()
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError, ValueError):
            if needle in path.read_bytes():
                yield int(path.parent.name)


def _cpu_seconds(runner: int, mark: str, user: int | None) -> float:
    """Return the CPU seconds of a run so far: of its live processes and those that they have waited for (Linux)."""
    ticks = 0
    for process in {runner, *_marked(mark, user)}:
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2]
            ticks += sum(map(int, fields.split()[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def _share(seconds: float) -> float:
    """Let a process spin for some seconds and return the share of a processor that it got."""
    # In a session of its own, like a run: schedulers divide the machine between sessions.
    command = [sys.executable, "-I", "-S", "-c", probe(), str(seconds)]
    try:
        return float(subprocess.run(command, capture_output=True, check=True, start_new_session=True).stdout)
    except (OSError, subprocess.SubprocessError):
        return 1.0  # tested code may have used up all processes: that must not excuse it
