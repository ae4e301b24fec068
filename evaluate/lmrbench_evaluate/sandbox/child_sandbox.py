"""Run workspaces in child processes of this machine: the common part of `local` and `bwrap`.

A backend starts a zygote, says how much CPU time and memory its job uses, and kills it. Starting and killing one child
is `base.child`'s job. The rest differs from other children: a job is limited by CPU time that `meter` measures from
outside, and by rlimits that it sets after it has unpacked the workspace.
"""

import contextlib
import functools
import logging
import os
import platform
import re
import selectors
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import metadata
from pathlib import Path

from lmrbench_data.base.child import Child, describe_status
from lmrbench_data.base.errors import InfraError
from lmrbench_data.tasks.environments import Environment, known_environments

from ..runner import source
from .base import START_S, Ended, Limits
from .zygote import Host
from .zygotes import CLOSED, SHARED, Isolation, ZygoteSandbox

#: Seconds between two looks at the memory of a run.
_WATCH_S = 0.2
_log = logging.getLogger(__name__)


class ChildSandbox(ZygoteSandbox):
    """The child processes of one harness process."""

    official = False

    def __init__(self, benchmark: Path | None = None, isolation: Isolation = SHARED) -> None:
        super().__init__(isolation)
        self._benchmark = benchmark
        #: Ends all processes of a run; any thread may call it.
        self._kills: set[Callable[[], None]] = set()
        self._lock = threading.Lock()

    def prepare(self, tag: str) -> str:
        """Check that this Python has the environment's packages; return their versions as the identity."""
        return _check_packages(find_environment(tag, self._benchmark).packages(), self.name)

    def close(self) -> None:
        with self._lock:
            kills = list(self._kills)
        super().close()
        for kill in kills:
            kill()

    @contextlib.contextmanager
    def hosted(self, child: Child, kill: Callable[[], None]) -> Iterator[Host]:
        """Yield the host of a zygote, which `close` kills meanwhile."""
        process = child.process
        with self._lock:
            if self._closed:  # while the process was being started
                raise InfraError(CLOSED)
            self._kills.add(kill)
        try:
            with PipeReader(process) as reader:
                yield Host(
                    send=functools.partial(_send, child),
                    read=reader.read,
                    cpu_seconds=lambda: cpu_seconds({process.pid, *below(process.pid)}),
                    offered=lambda: contextlib.nullcontext(offered_share),
                    end=lambda errors: (
                        Ended.EXITED,
                        f"{describe_status(process.wait())}: {errors.strip()[-300:]}",
                    ),
                )
        finally:
            with self._lock:
                self._kills.discard(kill)


def _send(child: Child, data: bytes) -> None:
    """Send data; a zygote that has ended does not read, and its end gives the reason."""
    with contextlib.suppress(BrokenPipeError, TimeoutError):
        child.send(data, time.monotonic() + START_S)


def find_environment(tag: str, benchmark: Path | None = None) -> Environment:
    """Return the environment with this image tag or, if its content has changed, name; InfraError if there is none."""
    name = tag.partition("/")[2].partition(":")[0]
    known = [item for item in known_environments(benchmark) if item.name == name]
    if not known:
        raise InfraError(
            f"environment {name!r} is not in this installation; use the docker sandbox, or upgrade"
        )
    return next((item for item in known if item.tag == tag), known[0])


def _check_packages(requirements: Iterable[str], sandbox: str) -> str:
    """Return the versions of Python and of these packages, as the identity of the environment; log other versions."""
    found, missing, other = [f"python {platform.python_version()}"], [], []
    for requirement in requirements:
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
            f"the {sandbox} sandbox lacks {', '.join(missing)}; run `pip install 'lmrbench[local]'` or start Docker"
        )
    if other:
        _log.warning(
            "this Python has %s; results may differ from those in the image", ", ".join(other)
        )
    return "; ".join(found)


def rlimits(limits: Limits, **more: int) -> dict[str, int]:
    """Return the rlimits of a run, and more by name."""
    memory, disk = limits.memory_mb * 2**20, limits.disk_mb * 2**20
    own = {"RLIMIT_DATA": memory, "RLIMIT_FSIZE": disk, "RLIMIT_CORE": 0, "RLIMIT_NOFILE": 1024}
    return {**own, **more}


def cpu_seconds(processes: Iterable[int]) -> float:
    """Return the CPU seconds so far of these processes and of those that they have waited for (Linux)."""
    ticks = 0
    for process in processes:
        with contextlib.suppress(OSError):
            ticks += sum(map(int, stat_fields(process)[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def stat_fields(process: int | str) -> list[bytes]:
    """Return the fields of /proc/PID/stat after the name: state, parent, ...; OSError if the process is gone."""
    with open(
        f"/proc/{process}/stat", "rb", 0
    ) as file:  # pathlib takes four times as long, and machines have hundreds
        return file.read().rpartition(b")")[2].split()


def parents() -> dict[int, int]:
    """Return the parent of every process of this machine."""
    found: dict[int, int] = {}
    names = os.listdir("/proc") if os.path.isdir("/proc") else []
    for name in names:
        if name.isdigit():
            with contextlib.suppress(OSError):
                found[int(name)] = int(stat_fields(name)[1])
    return found


@functools.lru_cache(maxsize=1)
def _parents_at(look: int) -> dict[int, int]:
    """Return `parents()` as all runs see them at one look: each of hundreds of processes is a file to read."""
    return parents()


def below(bwrap: int, parent_of: Mapping[int, int] | None = None) -> set[int]:
    """Return the processes of a run: all that descend from bwrap, because process 1 adopts every orphan."""
    children: dict[int, list[int]] = {}
    for process, parent in (parent_of or parents()).items():
        children.setdefault(parent, []).append(process)
    found, waiting = set[int](), [bwrap]
    while waiting:
        for process in children.get(waiting.pop(), ()):
            if process not in found:
                found.add(process)
                waiting.append(process)
    return found


def memory_of(bwrap: int, limits: Limits) -> float:
    """Return the memory of a run that does not hold files; 0 while it cannot exceed the limit."""
    processes = below(bwrap, _parents_at(int(time.monotonic() / _WATCH_S)))
    at_most = sum(_sum_mb(process, "status", "Rss(?:Anon|Shmem)") for process in processes)
    # The kernel takes milliseconds to compute a process's share of what it shares.
    is_near = at_most > limits.memory_mb
    return (
        sum(_sum_mb(process, "smaps_rollup", "Pss_(?:Anon|Shmem)") for process in processes)
        if is_near
        else 0.0
    )


def _sum_mb(process: int, file: str, names: str) -> float:
    """Return the sum of these lines of a file of /proc; 0 if the process is gone."""
    try:
        text = Path(f"/proc/{process}/{file}").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return 0.0
    return (
        sum(int(size) for size in re.findall(rf"^{names}:\s+(\d+) kB$", text, re.MULTILINE)) / 1024
    )


def offered_share(seconds: float) -> float:
    """Let a process spin for some seconds and return the share of a processor that it got."""
    # In a session of its own, like a run: schedulers divide the machine between sessions.
    command = [sys.executable, "-I", "-S", "-c", source("probe.py"), str(seconds)]
    try:
        return float(
            subprocess.run(command, capture_output=True, check=True, start_new_session=True).stdout
        )
    except (OSError, subprocess.SubprocessError):
        return 1.0  # tested code may have used up all processes: that must not excuse it


class PipeReader(contextlib.AbstractContextManager["PipeReader"]):
    """Reads stdout and stderr of a process until both end or the process is gone."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process, self._selector = process, selectors.DefaultSelector()
        for pipe in (process.stdout, process.stderr):
            assert pipe is not None
            self._selector.register(pipe, selectors.EVENT_READ)

    def __exit__(self, *_: object) -> None:
        self._selector.close()

    def read(self, timeout_s: float) -> list[tuple[bool, bytes]] | None:
        """Wait for data and return it as (is stdout, data); empty if nothing arrived soon, None at the end."""
        is_gone = (
            self._process.poll() is not None
        )  # asked before the last read: its last output precedes its end
        timeout_s = 0 if is_gone else min(timeout_s, _WATCH_S)
        ready = self._selector.select(timeout_s) if self._selector.get_map() else []
        pieces = []
        for key, _ in ready:
            if data := os.read(key.fd, 1 << 18):
                pieces.append((key.fileobj is self._process.stdout, data))
            else:
                self._selector.unregister(key.fileobj)
        # A straggler may hold the pipes open after the process is gone.
        return (
            None
            if (not self._selector.get_map() and not pieces) or (is_gone and not ready)
            else pieces
        )


def memory_watch(memory_mb: Callable[[], float], limits: Limits) -> Callable[[], Ended | None]:
    """Return a function that looks at a run's memory from time to time, and says whether the run must end."""
    next_look = time.monotonic() + _WATCH_S

    def watch() -> Ended | None:
        nonlocal next_look
        if time.monotonic() < next_look:
            return None
        next_look = time.monotonic() + _WATCH_S
        return Ended.OUT_OF_MEMORY if memory_mb() > limits.memory_mb else None

    return watch
