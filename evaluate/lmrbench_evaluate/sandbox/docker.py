"""Run workspaces in Docker, in locked-down containers.

A container has no network, a read-only root, work folders in memory, an unprivileged user, no
capabilities, and limits on memory, processes, disk and files. Nothing is mounted, so the daemon may
be on another machine. Containers carry the labels below and are always removed: by `run`, by
`close`, or by the reaper process if the harness crashes.

A container for many answers lets its zygote build walls around each. One for a single answer has
the engine's own profile of system calls instead, and the answer's runner takes the place of the
zygote.
"""

import contextlib
import dataclasses
import json
import logging
import os
import secrets
import socket
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from lmrbench_data.base.errors import InfraError

from ..runner import probe_arguments, zygote_arguments, zygote_program
from ..runner.seccomp import NEEDED_FOR_WALLS, OWNERLESS, REFUSED
from ..runner.walls import MASKED, NOBODY
from .base import ENVIRONMENT, PYTHON_OPTIONS, START_S, Ended, Limits, Pieces
from .docker_client import (
    RUN_LABEL,
    StreamReader,
    attached,
    connect,
    cpu_seconds,
    end_of_container,
    engine_errors,
    remove,
    remove_all,
)
from .images import ensure_image, layers_digest
from .zygote import OWN_PROCESSES, WORK, GoneError, Zygote
from .zygotes import CONTAINER, SHARED, Isolation, ZygoteSandbox

#: The process that created a container: `docker ps --filter label=lmrbench.process=PID`.
PROCESS_LABEL = "lmrbench.process"
USER = f"{NOBODY}:{NOBODY}"
#: Containers for answers have random users, because the kernel limits some things by user
#: (descriptors under way, watched files), through which answers that run side by side could talk.
#: Engines without root have 65,536 users.
_FIRST_USER = 10_000
_USERS = 50_000
_PROBE_LIMITS = Limits(time_s=0, memory_mb=128)
_log = logging.getLogger(__name__)


class DockerSandbox(ZygoteSandbox):
    """The containers of one harness process."""

    name = "docker"
    official = True
    #: Identity → the daemon's id of an image, for all sandboxes of this process.
    _images: ClassVar[dict[str, str]] = {}
    #: Identity → why walls are refused, likewise.
    _refusals: ClassVar[dict[str, str]] = {}

    def __init__(self, benchmark: Path | None = None, isolation: Isolation = SHARED) -> None:
        """Connect to the daemon; InfraError if none answers."""
        super().__init__(isolation)
        self._benchmark = benchmark
        self.run_id = uuid.uuid4().hex
        self._threads = threading.local()
        self._limits_hold = False
        self._reaper: subprocess.Popen[bytes] | None = None
        self._reaper_lock = threading.Lock()
        #: Threads that need the same image wait for the one that builds it.
        self._image_lock = threading.Lock()
        self._api()

    def prepare(self, tag: str) -> str:
        """Pull or build the image if it is missing; return its identity, equal for all daemons.

        Where a container cannot hold the walls of an answer, each answer gets a container.
        """
        with self._image_lock:
            image = ensure_image(self._api(), tag, self._benchmark)
            identity = layers_digest(self._api(), image)
            self._images[identity] = image
            if self.isolation == SHARED and (refusal := self._refusal(identity)):
                self.isolation = CONTAINER
                _log.warning(
                    "each answer gets a container (`--isolation container`), which is slower: %s",
                    refusal,
                )
            return identity

    def _refusal(self, image: str) -> str:
        """Return why a container with this image cannot hold the walls of an answer, or ""."""
        if image not in self._refusals:
            try:
                with self.zygote(image, _PROBE_LIMITS):
                    self._refusals[image] = ""
            except GoneError as error:
                self._refusals[image] = str(error)
            except InfraError:  # the engine failed, which says nothing about walls
                return ""
        return self._refusals[image]

    @contextlib.contextmanager
    def zygote(self, image: str, limits: Limits) -> Iterator[Zygote]:
        """Start a zygote in a container, and remove it after the block."""
        is_shared = self.isolation == SHARED
        user = _FIRST_USER + secrets.randbelow(_USERS)
        walls = {"user": user, "disk_mb": limits.disk_mb} if is_shared else None
        program = zygote_program(walls=walls, in_place=not is_shared, has_cgroup=True)
        options: dict[str, Any] = {
            "user": f"{user}:{user}",
            "command": ["python", *PYTHON_OPTIONS, *zygote_arguments(program)],
            "environment": {**ENVIRONMENT, "HOME": WORK},
            "stdin_open": True,
            "network_disabled": True,
        }
        host: dict[str, Any] = {"tmpfs": dict.fromkeys((WORK, "/tmp"), tmpfs_options(limits))}
        if is_shared:
            host["security_opt"] = _security_with_walls()
            limits = dataclasses.replace(limits, processes=limits.processes + OWN_PROCESSES)
            # The kernel refuses to mount the /proc of a job over one that is masked.
            options["masked"] = ()
        with (
            self.container(image, limits, host=host, **options) as (api, container),
            attached(api, container) as connection,
            contextlib.ExitStack() as ends,
        ):
            zygote = _ContainerZygote(self, image, api, container, connection, ends)
            zygote.runs_in_place = not is_shared
            with engine_errors("Docker engine"):
                api.start(container)
            zygote.start(program)
            yield zygote

    @contextlib.contextmanager
    def container(
        self,
        image: str,
        limits: Limits,
        *,
        host: Mapping[str, Any],
        masked: Sequence[str] = MASKED,
        **options: Any,
    ) -> Iterator[tuple[Any, str]]:
        """Create a locked-down container, not started; yield (client, id), and remove it.

        Args:
            host: additions to its host configuration, such as tmpfs folders.
            masked: paths that it cannot read; if there are none, it may also write where the engine
                forbids it.
            options: options of the container itself, such as its command.
        """
        self.refuse_if_closed()
        self._start_reaper()
        with engine_errors("Docker engine"):
            api = self._api()
            made = api.create_container(
                image=self._images.get(image, image),
                entrypoint=[],
                labels={RUN_LABEL: self.run_id, PROCESS_LABEL: str(os.getpid())},
                host_config=_host_config(api, limits, masked, host),
                use_config_proxy=False,  # may hold a password
                **{"user": USER, **options},
            )
            container = made["Id"]
            try:
                self.refuse_if_closed()  # while the container was being created
                if not self._limits_hold:
                    _require_limits(api, container, limits)
                    self._limits_hold = True
                yield api, container
            finally:
                remove(api, container)

    def close(self) -> None:
        """Remove all containers; if the daemon does not answer, leave them to the reaper."""
        super().close()
        is_clean = False
        with contextlib.suppress(InfraError):
            is_clean = remove_all(self._api(), self.run_id)
        with self._reaper_lock:
            reaper = self._reaper
            self._reaper = None
        if reaper is not None:
            with reaper:  # closes its stdin
                if is_clean:
                    # Also waits for the detached process, which holds its stdout.
                    reaper.communicate(b"done")

    def _api(self) -> Any:
        """Return the client of this thread: `requests` sessions must not be shared."""
        if not hasattr(self._threads, "api"):
            self._threads.api = connect()
        return self._threads.api

    def _start_reaper(self) -> None:
        module = "lmrbench_evaluate.sandbox.reaper"
        with self._reaper_lock:
            if self._reaper is None:
                # In a session of its own, because Ctrl-C and a killed terminal must not reach it.
                self._reaper = subprocess.Popen(
                    [sys.executable, "-P", "-m", module, self.run_id, str(os.getpid())],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                )


class _ContainerZygote(Zygote):
    """A zygote in a container."""

    def __init__(
        self,
        sandbox: DockerSandbox,
        image: str,
        api: Any,
        container: str,
        connection: socket.socket,
        ends: contextlib.ExitStack,
    ) -> None:
        super().__init__()
        self._sandbox = sandbox
        self._image = image
        self._api = api
        self._container = container
        self._connection = connection
        self._reader = StreamReader(connection)
        self._ends = ends
        self._probe = ""

    def send(self, data: bytes) -> None:
        # A container that has ended does not read, and its state gives the reason.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._connection.settimeout(START_S)
            self._connection.sendall(data)

    @engine_errors("Docker engine")
    def read(self, timeout_s: float) -> Pieces | None:
        return self._reader.read(timeout_s)

    @engine_errors("Docker engine")
    def cpu_seconds(self) -> float:
        return cpu_seconds(self._api, self._container)

    @engine_errors("Docker engine")
    def offered_share(self, seconds: float) -> float:
        """Spin in a container of its own, made on first use, which no run can affect."""
        api = self._api
        if not self._probe:
            self._probe = self._create_probe()
            api.start(self._probe)
        command = ["python", *probe_arguments(seconds)]
        output = api.exec_start(api.exec_create(self._probe, command, user=USER)["Id"])
        try:
            return float(output)
        except ValueError:
            problem = repr(output[-200:])
            raise InfraError(f"the machine's load cannot be measured: {problem}") from None

    def _create_probe(self) -> str:
        command = ["python", "-I", "-S", "-c", "import time; time.sleep(1e6)"]
        made = self._sandbox.container(
            self._image, _PROBE_LIMITS, host={}, command=command, network_disabled=True
        )
        return self._ends.enter_context(made)[1]

    @engine_errors("Docker engine")
    def describe_end(self, errors: str) -> tuple[Ended, str]:
        return end_of_container(self._api, self._container, errors)


def tmpfs_options(limits: Limits) -> str:
    """Return the mount options of a folder that code inside may write to."""
    return f"rw,nosuid,nodev,size={limits.disk_mb}m,mode=1777"


def _security_with_walls() -> list[str]:
    """Return the security options of a container whose zygote may build walls."""
    profile = {
        "defaultAction": "SCMP_ACT_ALLOW",
        "syscalls": [
            {
                "names": sorted({*REFUSED} - {*NEEDED_FOR_WALLS, *OWNERLESS}),
                "action": "SCMP_ACT_ERRNO",
            }
        ],
    }
    # The engine's AppArmor profile forbids mounts.
    return ["no-new-privileges", "apparmor=unconfined", f"seccomp={json.dumps(profile)}"]


def _host_config(
    api: Any, limits: Limits, masked: Sequence[str], additions: Mapping[str, Any]
) -> dict[str, Any]:
    from docker.types import LogConfig, Ulimit

    memory = limits.memory_mb * 2**20
    options: dict[str, Any] = {
        "network_mode": "none",
        "read_only": True,
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges"],
        "mem_limit": memory,
        "memswap_limit": memory,
        "pids_limit": limits.processes,
        "nano_cpus": 1_000_000_000,
        "ipc_mode": "none",
        "oom_score_adj": 500,
        # With an init process as process 1, signals from tested code would reach the runner.
        "init": False,
        "ulimits": [
            Ulimit(name="core", soft=0, hard=0),
            Ulimit(name="nofile", soft=1024, hard=1024),
        ],
        # The stream is read live; the daemon must not keep a copy of the output.
        "log_config": LogConfig(type="none"),
    }
    configuration: dict[str, Any] = api.create_host_config(**{**options, **additions})
    configuration["MaskedPaths"] = [*masked]
    if not masked:  # without an empty list, the engine has one of its own
        configuration["ReadonlyPaths"] = []
    return configuration


def _require_limits(api: Any, container: str, limits: Limits) -> None:
    """Refuse an engine that ignores limits, as one without root does on cgroup v1."""
    host = api.inspect_container(container)["HostConfig"]
    expected = (limits.memory_mb * 2**20, limits.processes)
    if (host["Memory"], host["PidsLimit"]) != expected:
        raise InfraError(
            "the engine cannot limit memory and processes; without root, it needs cgroup v2"
        )
