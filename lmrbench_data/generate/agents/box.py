"""The container that an agent works in: no network, a work folder of limited size, and nothing of the host.

Both folders are memory, in volumes of the container's own: the daemon writes to them and reads from them, so that no
program inside takes part. For the last look the container is paused, where the kernel can do that.
"""

import contextlib
import io
import socket
import tarfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from ...errors import InfraError
from ...evaluate.sandbox.base import Limits
from ...evaluate.sandbox.docker import USER, WORK, DockerSandbox, engine_errors, tmpfs_options

AGENT = "/agent"
#: An agent runs more than one function: tests, libraries, tools of its own.
MEMORY_MB = 4096
DISK_MB = 256
FILES = 20_000
#: More than fits into the work folder: only files with holes come to so much.
SNAPSHOT_BYTES = 2 * DISK_MB * 2**20
#: First process: it ends the container if nobody else does, and takes over orphans.
_INIT = """
import os, sys, time
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
#: The number of a stream in what Docker sends.
STDOUT = 1


@dataclass(frozen=True)
class Executed:
    """What a command in a box came to."""

    output: bytes
    """Of both streams, or of standard error alone; up to the limit that was asked for."""
    status: int | None
    """None if it was still running at its time limit."""


class Box:
    """A running container; use `open_box`, or from another process the id of one that is open."""

    def __init__(self, api: Any, container: str) -> None:
        self._api, self.container = api, container

    def put(self, folder: str, files: Mapping[str, Path], *, owner: int = 65534) -> None:
        """Copy files into a folder of the box, by their names in it. Root's can only be read by the agent."""
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as tar:
            folders = {str(parent) for name in files for parent in Path(name).parents if str(parent) != "."}
            for name in sorted(folders):
                info = tarfile.TarInfo(name)
                info.type, info.mode = tarfile.DIRTYPE, 0o755
                info.uid = info.gid = owner
                tar.addfile(info)
            for name, path in sorted(files.items()):
                data = path.read_bytes()
                info = tarfile.TarInfo(name)
                info.size, info.mtime = len(data), int(time.time())
                info.mode = 0o755 if path.stat().st_mode & 0o100 else 0o644
                info.uid = info.gid = owner
                tar.addfile(info, io.BytesIO(data))
        with engine_errors("copying into the container"):
            self._api.put_archive(self.container, folder, buffer.getvalue())

    def start(
        self, command: Sequence[str], *, user: str = USER, environment: Mapping[str, str] | None = None
    ) -> tuple[str, socket.socket]:
        """Start a command in the work folder: its id, and a connection to its streams."""
        with engine_errors("starting a command in the container"):
            made = self._api.exec_create(
                self.container,
                list(command),
                stdin=True,
                user=user,
                environment={"HOME": "/tmp", "LANG": "C.UTF-8", **(environment or {})},
                workdir=WORK,
            )["Id"]
            stream = self._api.exec_start(made, socket=True)
        return made, getattr(stream, "_sock", stream)

    def execute(
        self,
        command: Sequence[str],
        *,
        time_s: float,
        output_bytes: int,
        environment: Mapping[str, str] | None = None,
        stdout: BinaryIO | None = None,
    ) -> Executed:
        """Run a command. At its time limit it is left alone: end it with `timeout` inside, or end the box.

        Args:
            stdout: gets standard output as it comes, up to `output_bytes` of it.
        """
        made, connection = self.start(command, environment=environment)
        output, rest = bytearray(), output_bytes
        with contextlib.closing(connection):
            try:
                # What the command reads has an end at once.
                connection.shutdown(socket.SHUT_WR)
                for stream, data in frames(connection, time.monotonic() + time_s):
                    if stdout is not None and stream == STDOUT:
                        rest -= stdout.write(data[:rest])
                    else:
                        output += data[: output_bytes - len(output)]
            except TimeoutError:
                return Executed(bytes(output), None)
        with engine_errors("asking how a command in the container ended"):
            return Executed(bytes(output), self._api.exec_inspect(made)["ExitCode"])

    def snapshot(self, folder: Path, wanted: Sequence[str]) -> None:
        """Copy plain files of some folders of the work folder to this side; the box is of no more use then.

        Links and devices are left out, and `.git`: what an agent did to it is never read.

        Raises:
            InfraError: the daemon fails.
            OverflowError: there is more than any answer needs.
        """
        import docker.errors

        with engine_errors("copying out of the container"):
            # What forks without end cannot be frozen; then its answer is what stands there while it goes on.
            with contextlib.suppress(docker.errors.APIError):
                self._api.pause(self.container)
            chunks, _ = self._api.get_archive(self.container, WORK)
            # Left open, the stream would hold up all other calls about this container.
            with contextlib.closing(chunks):
                try:
                    _unpack(_Reader(chunks), folder, wanted)
                except tarfile.TarError as error:
                    raise InfraError(f"copying out of the container: {error}") from error


@contextlib.contextmanager
def open_box(sandbox: DockerSandbox, image: str, time_s: float) -> Iterator[Box]:
    """A running box on an image; whatever happens, it is removed at the end."""
    from docker.types import DriverConfig, Mount

    limits = Limits(time_s=time_s, memory_mb=MEMORY_MB, disk_mb=DISK_MB)

    def memory(target: str, options: str) -> Any:
        driver = DriverConfig("local", {"type": "tmpfs", "device": "tmpfs", "o": options})
        return Mount(target=target, source=None, type="volume", no_copy=True, driver_config=driver)

    work = f"{tmpfs_options(limits)},nr_inodes={FILES}".removeprefix("rw,")
    mounts = [memory(WORK, work), memory(AGENT, "nosuid,nodev,size=64m,mode=755")]
    host = {"tmpfs": {"/tmp": f"{tmpfs_options(limits)},exec"}, "mounts": mounts}
    with sandbox.container(
        image, limits, host=host, command=["python", "-I", "-c", _INIT, str(time_s + _GRACE_S)], working_dir=WORK
    ) as (api, container):
        api.start(container)
        yield Box(api, container)


def frames(connection: socket.socket, deadline: float) -> Iterator[tuple[int, bytes]]:
    """(stream, data) as Docker sends them: 8 bytes of header, then the data.

    Raises:
        TimeoutError: the deadline has passed.
    """
    buffer = bytearray()
    while True:
        rest = deadline - time.monotonic()
        if rest <= 0:
            raise TimeoutError
        connection.settimeout(rest)
        try:
            chunk = connection.recv(1 << 16)
        except ConnectionError:
            return
        if not chunk:
            return
        buffer += chunk
        while len(buffer) >= 8 and len(buffer) >= 8 + (size := int.from_bytes(buffer[4:8], "big")):
            yield buffer[0], bytes(buffer[8 : 8 + size])
            del buffer[: 8 + size]


class _Reader(io.RawIOBase):
    """The stream of a tar as a file that ends with an error when it is too long."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks, self._buffer, self._read = chunks, b"", 0

    def read(self, size: int = -1) -> bytes:
        """Up to `size` bytes."""
        while len(self._buffer) < size and (chunk := next(self._chunks, b"")):
            self._read += len(chunk)
            if self._read > SNAPSHOT_BYTES:
                raise OverflowError(f"the work folder holds more than {SNAPSHOT_BYTES >> 20} MB")
            self._buffer += chunk
        data, self._buffer = self._buffer[:size], self._buffer[size:]
        return data


def _unpack(stream: io.RawIOBase, folder: Path, wanted: Sequence[str]) -> None:
    reader: BinaryIO = stream  # type: ignore[assignment]
    with tarfile.open(fileobj=reader, mode="r|") as tar:
        for member in tar:
            parts = Path(member.name).parts[1:]
            if not parts or parts[0] not in wanted or ".git" in parts or ".." in parts:
                continue
            target = folder.joinpath(*parts)
            if member.isdir():
                target.mkdir(parents=True, exist_ok=True)
            elif member.isreg() and (data := tar.extractfile(member)) is not None:
                target.parent.mkdir(parents=True, exist_ok=True)
                with target.open("wb") as file:
                    while piece := data.read(1 << 20):
                        file.write(piece)
                target.chmod(0o755 if member.mode & 0o100 else 0o644)
