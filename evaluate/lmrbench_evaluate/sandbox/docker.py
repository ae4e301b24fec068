"""Run workspaces in Docker, in locked-down containers.

A container has no network, a read-only root, work folders in memory, an unprivileged user, no capabilities, and limits
on memory, processes, disk and files. Nothing is mounted, so the daemon may be on another machine. Containers carry the
labels below and are always removed: by `run`, by `close`, or by the reaper process if the harness crashes.

A container for many answers lets its zygote build walls around each. One for a single answer has the engine's own
profile of system calls instead, and the answer's runner takes the place of the zygote.
"""

import contextlib
import functools
import json
import logging
import os
import secrets
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from lmrbench_data.base.errors import InfraError

from ..runner import source, zygote_arguments, zygote_program
from ..runner.seccomp import NEEDED_FOR_WALLS, OWNERLESS, REFUSED
from ..runner.walls import MASKED
from .base import PYTHON_OPTIONS, Limits
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
    send,
)
from .images import ensure_image, layers_digest
from .zygote import OWN_PROCESSES, WORK, ZYGOTE_ENVIRONMENT, GoneError, Host, Zygote
from .zygotes import CLOSED, CONTAINER, SHARED, Isolation, ZygoteSandbox

#: The process that created a container: `docker ps --filter label=lmrbench.process=PID` lists those of one command.
PROCESS_LABEL = "lmrbench.process"
USER = "65534:65534"
#: Containers for answers have random users, because the kernel limits some things by user (descriptors under way,
#: watched files), through which answers that run side by side could talk. Engines without root have 65,536 users.
_FIRST_USER, _USERS = 10_000, 50_000
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
        """Pull or build the image if it is missing; return its identity, which all daemons with this image agree on.

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
        """Return why a container with this image cannot hold the walls of an answer; empty if it can."""
        if image not in self._refusals:
            try:
                with self.zygote(image, _PROBE_LIMITS):
                    self._refusals[image] = ""
            except GoneError as error:
                self._refusals[image] = str(error)
            except (
                InfraError
            ):  # the engine failed, which says nothing about walls; answers will say it
                return ""
        return self._refusals[image]

    @contextlib.contextmanager
    def zygote(self, image: str, limits: Limits) -> Iterator[Zygote]:
        """Start a zygote in a container, and remove it after the block; memory and disk are per answer."""
        is_shared = self.isolation == SHARED
        user = _FIRST_USER + secrets.randbelow(_USERS)
        program = zygote_program(
            walls={"user": user, "disk_mb": limits.disk_mb} if is_shared else None,
            in_place=not is_shared,
            has_cgroup=True,
            required=[],
        )
        options = tmpfs_options(limits)
        host = {
            "tmpfs": {WORK: options, "/tmp": options},
            **(_room_for_walls() if is_shared else {}),
        }
        with (
            self.container(
                image,
                Limits(
                    0,
                    limits.memory_mb,
                    limits.processes + is_shared * OWN_PROCESSES,
                    limits.disk_mb,
                ),
                host=host,
                # The kernel refuses to mount the /proc of a job over one that is masked.
                masked=() if is_shared else MASKED,
                user=f"{user}:{user}",
                command=["python", *PYTHON_OPTIONS, *zygote_arguments(program)],
                environment={**ZYGOTE_ENVIRONMENT, "HOME": WORK},
                stdin_open=True,
                network_disabled=True,
            ) as (api, container),
            attached(api, container) as connection,
        ):
            checked = engine_errors("Docker engine")
            checked(api.start)(container)
            started = Host(
                send=functools.partial(send, connection),
                read=checked(StreamReader(connection).read),
                cpu_seconds=checked(functools.partial(cpu_seconds, api, container)),
                offered=functools.partial(self.offered_share, image),
                end=checked(functools.partial(end_of_container, api, container)),
                runs_in_place=not is_shared,
            )
            yield Zygote(started, program)

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
        """Create a locked-down container and yield (client, id); start it yourself, it is removed after the block.

        Args:
            host: additions to its host configuration, such as tmpfs folders.
            masked: paths that it cannot read; if there are none, it may also write where the engine forbids it.
            options: options of the container itself, such as its command.
        """
        if self._closed:
            raise InfraError(CLOSED)
        self._start_reaper()
        with engine_errors("Docker engine"):
            api = self._api()
            made = api.create_container(
                image=self._images.get(image, image),
                entrypoint=[],
                labels={RUN_LABEL: self.run_id, PROCESS_LABEL: str(os.getpid())},
                host_config=_host_config(api, limits, host) | _paths(masked),
                use_config_proxy=False,  # may hold a password
                **{"user": USER, **options},
            )
            container = made["Id"]
            try:
                if self._closed:  # while the container was being created
                    raise InfraError(CLOSED)
                if not self._limits_hold:
                    _require_limits(api, container, limits)
                    self._limits_hold = True
                yield api, container
            finally:
                remove(api, container)

    @contextlib.contextmanager
    def offered_share(self, image: str) -> Iterator[Callable[[float], float]]:
        """Yield a function that lets a process spin for some seconds and returns the share of a processor that it got.

        It spins in a container of its own, made on first use, which no run can affect.
        """
        with contextlib.ExitStack() as stack:

            @functools.cache
            def started() -> tuple[Any, str]:
                command = ["python", "-I", "-S", "-c", "import time; time.sleep(1e6)"]
                made = self.container(
                    image, _PROBE_LIMITS, host={}, command=command, network_disabled=True
                )
                api, container = stack.enter_context(made)
                api.start(container)
                return api, container

            @engine_errors("Docker engine")
            def share(seconds: float) -> float:
                api, container = started()
                command = ["python", "-I", "-S", "-c", source("probe.py"), str(seconds)]
                output = api.exec_start(api.exec_create(container, command, user=USER)["Id"])
                try:
                    return float(output)
                except ValueError:
                    raise InfraError(
                        f"the machine's load cannot be measured: {output[-200:]!r}"
                    ) from None

            yield share

    def close(self) -> None:
        """Remove all containers of this sandbox; if the daemon does not answer, leave them to the reaper."""
        super().close()
        clean = False
        with contextlib.suppress(InfraError):
            clean = remove_all(self._api(), self.run_id)
        with self._reaper_lock:
            reaper, self._reaper = self._reaper, None
        if reaper is not None:
            with reaper:  # closes its stdin
                if clean:
                    reaper.communicate(
                        b"done"
                    )  # also waits for the detached process, which holds its stdout

    def _api(self) -> Any:
        """Return the client of this thread: `requests` sessions must not be shared."""
        if not hasattr(self._threads, "api"):
            self._threads.api = connect()
        return self._threads.api

    def _start_reaper(self) -> None:
        with self._reaper_lock:
            if self._reaper is None:
                # A session of its own, so that Ctrl-C and a killed terminal reach the harness and not the reaper.
                self._reaper = subprocess.Popen(
                    [
                        sys.executable,
                        "-P",
                        "-m",
                        "lmrbench_evaluate.sandbox.reaper",
                        self.run_id,
                        str(os.getpid()),
                    ],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                )


def tmpfs_options(limits: Limits) -> str:
    """Return the mount options of a folder that code inside may write to."""
    return f"rw,nosuid,nodev,size={limits.disk_mb}m,mode=1777"


def _room_for_walls() -> dict[str, Any]:
    """Return the host configuration of a container whose zygote builds walls: a profile that lets it."""
    refused = sorted({*REFUSED} - {*NEEDED_FOR_WALLS, *OWNERLESS})
    profile = {
        "defaultAction": "SCMP_ACT_ALLOW",
        "syscalls": [{"names": refused, "action": "SCMP_ACT_ERRNO"}],
    }
    # The engine's AppArmor profile forbids mounts.
    return {
        "security_opt": [
            "no-new-privileges",
            "apparmor=unconfined",
            f"seccomp={json.dumps(profile)}",
        ]
    }


def _paths(masked: Sequence[str]) -> dict[str, list[str]]:
    """Return the part of the host configuration about /proc and /sys; without it, the engine has lists of its own."""
    return {"MaskedPaths": [*masked]} if masked else {"MaskedPaths": [], "ReadonlyPaths": []}


def _host_config(api: Any, limits: Limits, additions: Mapping[str, Any]) -> Any:
    import docker

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
            docker.types.Ulimit(name="core", soft=0, hard=0),
            docker.types.Ulimit(name="nofile", soft=1024, hard=1024),
        ],
        # The stream is read live; the daemon must not keep a copy of the output.
        "log_config": docker.types.LogConfig(type="none"),
    }
    return api.create_host_config(**{**options, **additions})


def _require_limits(api: Any, container: str, limits: Limits) -> None:
    """Refuse an engine that accepts limits and ignores them, as one without root does on cgroup v1."""
    held = api.inspect_container(container)["HostConfig"]
    if (held["Memory"], held["PidsLimit"]) != (limits.memory_mb * 2**20, limits.processes):
        raise InfraError(
            "the engine cannot limit memory and processes; without root, it needs cgroup v2"
        )
