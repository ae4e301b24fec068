"""The container that an agent works in: no network, a limited work folder, nothing from the host.

Its work folder and the folder `AGENT` are volumes in memory: the daemon reads and writes them, so
no program inside takes part. An agent that is done or over a limit is frozen; one over its CPU
budget that forks too fast for that is killed, and its files are lost.
"""

import contextlib
import io
import socket
import tarfile
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from lmrbench_data.base.errors import InfraError
from lmrbench_data.loader import File, LoadError, check_path, write_files
from lmrbench_evaluate.runner.walls import NOBODY
from lmrbench_evaluate.sandbox.base import Limits
from lmrbench_evaluate.sandbox.docker import USER, DockerSandbox, tmpfs_options
from lmrbench_evaluate.sandbox.docker_client import (
    StreamReader,
    cpu_seconds,
    engine_errors,
    stream_socket,
)
from lmrbench_evaluate.sandbox.zygote import WORK

from ..answer_patch import MAX_ENTRIES, is_below

#: The folder for the files that run an agent.
AGENT = "/agent"
#: An agent runs more than one function: tests, libraries and its own tools.
MEMORY_MB = 4096
DISK_MB = 256
#: More than fits into the work folder: only sparse files exceed it.
SNAPSHOT_BYTES = 2 * DISK_MB * 2**20
#: The first process: it ends the container if nothing else does, and reaps orphans.
_INIT = """
import os, signal, sys, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
end = time.monotonic() + float(sys.argv[1])
while time.monotonic() < end:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass
    time.sleep(0.5)
"""
_GRACE_S = 300
#: Tries to freeze the processes; on cgroup v1 each fails, after 0.3 s, while many processes fork.
_FREEZE_TRIES = 20
CPU_LIMIT = "cpu_limit"
#: Seconds between two measurements; an agent overshoots its budget by about this time on each core.
INTERVAL_S = 1.0
_KINDS = {tarfile.SYMTYPE: "a symbolic link", tarfile.FIFOTYPE: "a named pipe"}


class Box:
    """A running container, as `open_box` makes it."""

    def __init__(self, api: Any, container: str) -> None:
        self._api = api
        self._container = container
        self.is_stopped = False
        self._is_killed = False
        self._stopping = threading.Lock()
        self._streams: list[socket.socket] = []

    def put(self, folder: str, files: Mapping[str, File], *, owner: int = NOBODY) -> None:
        """Write files into a folder of the box; the agent cannot change those of owner 0."""
        data = _owned_tar(files, owner)
        with engine_errors("copying into the container"):
            self._api.put_archive(self._container, folder, data)

    def start(
        self,
        command: Sequence[str],
        *,
        user: str = USER,
        environment: Mapping[str, str] | None = None,
    ) -> tuple[str, socket.socket]:
        """Start a command in the work folder; return its id and a connection to its streams."""
        with engine_errors("starting a command in the container"):
            made = self._api.exec_create(
                self._container,
                list(command),
                stdin=True,
                user=user,
                environment={"HOME": "/tmp", "LANG": "C.UTF-8", **(environment or {})},
                workdir=WORK,
            )
            stream = self._api.exec_start(made["Id"], socket=True)
        return made["Id"], stream_socket(stream)

    def execute(
        self,
        command: Sequence[str],
        *,
        time_s: float,
        output_bytes: int,
        environment: Mapping[str, str] | None = None,
        stdout: BinaryIO | None = None,
    ) -> tuple[bytes, int | None]:
        """Run a command until it ends or the box is stopped. It continues after its time limit.

        Args:
            output_bytes: number of bytes of each stream to keep, or of both if they are mixed.
            stdout: receives standard output as it arrives; else it is mixed with standard error.

        Returns:
            Both streams, or standard error alone; and the exit status, None if the command still
            ran at its time limit.
        """
        identity, connection = self.start(command, environment=environment)
        output = io.BytesIO()
        with contextlib.closing(connection), contextlib.suppress(TimeoutError):
            # The command reads an empty input.
            connection.shutdown(socket.SHUT_WR)
            self._streams.append(connection)
            deadline = time.monotonic() + (0 if self.is_stopped else time_s)
            pieces = StreamReader(connection).pieces(deadline)
            _write_pieces(pieces, stdout or output, output, output_bytes)
            return output.getvalue(), self._exit_status(identity)
        return output.getvalue(), None

    def _exit_status(self, identity: str) -> int | None:
        """Return the exit status of a command that ended by itself."""
        if self.is_stopped:
            return None
        with engine_errors("asking how a command in the container ended"):
            status: int = self._api.exec_inspect(identity)["ExitCode"]
        return status

    def cpu_seconds(self) -> float:
        """Return the CPU time that all processes so far have used, in seconds.

        Raises:
            InfraError: the engine does not say.
        """
        with engine_errors("measuring the container's CPU time"):
            return cpu_seconds(self._api, self._container)

    def stop(self, *, or_kill: bool = False) -> None:
        """Freeze all processes and end the commands.

        Args:
            or_kill: kill processes that cannot be frozen, and lose the files; else they run on.

        Raises:
            InfraError: the daemon does not answer.
        """
        import docker.errors

        with self._stopping, engine_errors("stopping the container"):
            if self.is_stopped:
                return
            for _ in range(_FREEZE_TRIES):
                with contextlib.suppress(docker.errors.APIError):
                    self._api.pause(self._container)
                    break
            else:
                if or_kill:
                    with contextlib.suppress(docker.errors.APIError):  # it has ended
                        self._api.kill(self._container)
                    self._is_killed = True
                # Fails if it was removed, which is not the agent's doing.
                self._api.inspect_container(self._container)
            self.is_stopped = True
            for stream in self._streams:
                with contextlib.suppress(OSError):  # closed
                    stream.shutdown(socket.SHUT_RDWR)

    def copy_out(self, folder: Path) -> dict[str, str]:
        """Copy the regular files of the work folder of a stopped box into a new folder.

        Returns:
            The entries that were not copied, with the reasons.

        Raises:
            InfraError: the daemon failed, or its archive was cut short.
            OverflowError: the work folder holds more than any answer needs, or its processes were
                killed.
        """
        if self._is_killed:
            raise OverflowError("its processes forked too fast to be stopped at the CPU budget")
        with engine_errors("copying out of the container"), tempfile.TemporaryFile() as archive:
            self._download(archive)
            archive.seek(0)
            with tarfile.open(fileobj=archive) as tar:
                try:
                    return _extract(tar, folder)
                except tarfile.TarError as error:
                    raise InfraError(f"copying out of the container: {error}") from error

    def _download(self, archive: BinaryIO) -> None:
        """Write the work folder as a tar; OverflowError if it is too large."""
        chunks, _ = self._api.get_archive(self._container, WORK)
        # An open stream would block all other calls about this container.
        with contextlib.closing(chunks):
            for chunk in chunks:
                archive.write(chunk)
                if archive.tell() > SNAPSHOT_BYTES:
                    most = f"{SNAPSHOT_BYTES >> 20} MB"
                    raise OverflowError(f"the work folder holds more than {most}")

    def is_there(self) -> bool:
        """Return whether the daemon answers and knows the container, running or not."""
        with contextlib.suppress(InfraError), engine_errors("asking for the container"):
            self._api.inspect_container(self._container)
            return True
        return False


def _write_pieces(
    pieces: Iterable[tuple[bool, bytes]], stdout: BinaryIO, stderr: BinaryIO, most: int
) -> None:
    """Write pieces of two streams to their files, which get this many bytes at most."""
    for is_stdout, data in pieces:
        file = stdout if is_stdout else stderr
        file.write(data[: most - file.tell()])


@contextlib.contextmanager
def open_box(sandbox: DockerSandbox, image: str, time_s: float) -> Iterator[Box]:
    """Run a box on an image; it is always removed at the end."""
    limits = Limits(time_s=time_s, memory_mb=MEMORY_MB, disk_mb=DISK_MB)
    options = tmpfs_options(limits)
    work = _memory(WORK, f"{options},nr_inodes={MAX_ENTRIES}".removeprefix("rw,"))
    agent = _memory(AGENT, "nosuid,nodev,size=64m,mode=755")
    host = {"tmpfs": {"/tmp": f"{options},exec"}, "mounts": [work, agent]}
    command = ["python", "-I", "-c", _INIT, str(time_s + _GRACE_S)]
    opened = sandbox.container(image, limits, host=host, command=command, working_dir=WORK)
    with opened as (api, container):
        api.start(container)
        yield Box(api, container)


def _memory(target: str, options: str) -> Any:
    """Return a volume in memory."""
    from docker.types import DriverConfig, Mount

    driver = DriverConfig("local", {"type": "tmpfs", "device": "tmpfs", "o": options})
    return Mount(target=target, source=None, type="volume", no_copy=True, driver_config=driver)


class CpuMeter:
    """The CPU time that all processes of a box have used, in seconds.

    Args:
        is_futile: whether the agent works in vain; then the box is stopped, too.
    """

    def __init__(self, box: Box, budget_s: float | None, is_futile: Callable[[], Any]) -> None:
        self._box = box
        self._budget_s = budget_s
        self._is_futile = is_futile
        self._ended = threading.Event()
        self.used_s = 0.0
        self.is_over = False
        """True once the budget is spent; then the box is stopped."""

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Measure in a thread until the block ends."""
        thread = threading.Thread(target=self._watch, daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._ended.set()
            thread.join()
            self._measure()

    def _watch(self) -> None:
        while not self._ended.wait(INTERVAL_S):
            self._measure()
            self.is_over = self._budget_s is not None and self.used_s > self._budget_s
            if self.is_over or self._is_futile():
                with contextlib.suppress(InfraError):  # it is tried again
                    self._box.stop(or_kill=True)

    def as_metadata(self) -> dict[str, Any]:
        """Return the keys of a row's metadata."""
        facts = {"cpu_s": round(self.used_s, 3)}
        if self._budget_s:
            facts["cpu_budget_s"] = self._budget_s
        return facts

    def _measure(self) -> None:
        with contextlib.suppress(InfraError):
            self.used_s = max(self.used_s, self._box.cpu_seconds())


def _owned_tar(files: Mapping[str, File], owner: int) -> bytes:
    """Pack files, with their folders, for a user of the box."""

    def set_owner(info: tarfile.TarInfo) -> tarfile.TarInfo:
        info.mode = 0o755 if info.isdir() or info.mode & 0o100 else 0o644
        info.uid = info.gid = owner
        info.uname = info.gname = ""
        return info

    buffer = io.BytesIO()
    with tempfile.TemporaryDirectory(prefix="lmrbench-box-") as place:
        write_files(files, Path(place))
        with tarfile.open(fileobj=buffer, mode="w") as tar:
            for path in sorted(Path(place).iterdir()):
                tar.add(path, path.name, filter=set_owner)
    return buffer.getvalue()


def _extract(tar: tarfile.TarFile, folder: Path) -> dict[str, str]:
    """Extract regular files and folders; return the entries that are left out, with reasons."""
    left_out: dict[str, str] = {}
    for number, member in enumerate(tar):
        if number > 2 * MAX_ENTRIES:  # a file can have many names
            raise OverflowError(f"more than {MAX_ENTRIES:,} files and folders")
        # All names begin with that of the work folder.
        member.name = member.name.partition("/")[2]
        member.linkname = member.linkname.partition("/")[2]
        if not member.name or is_below(member.name, left_out):
            continue
        reason = _extract_member(tar, member, folder)
        if reason:
            left_out[member.name] = reason
    return left_out


def _extract_member(tar: tarfile.TarFile, member: tarfile.TarInfo, folder: Path) -> str:
    """Extract an entry, or return why it is left out."""
    try:
        reason = _obstacle(member, folder)
        if not reason:
            tar.extract(member, folder, filter="data")
    except (LoadError, UnicodeError, tarfile.FilterError):
        return "an unsafe name"
    except OSError as error:
        return str(error.strerror)
    return reason


def _obstacle(member: tarfile.TarInfo, folder: Path) -> str:
    """Return why an entry is not extracted; empty if it is. LoadError for an unsafe name."""
    check_path(member.name)
    if member.islnk():
        is_there = (folder / member.linkname).is_file()
        return "" if is_there else "another name of a file that was not taken"
    if member.isreg() or member.isdir():
        return ""
    return _KINDS.get(member.type, "a device")
