"""Run workspaces in Docker: one fresh, locked-down container per run.

A container has no network, a read-only root, work folders in memory, an unprivileged user, no capabilities, and limits
on memory, processes, disk and files. Nothing is mounted, so the daemon may be on another machine. Containers carry the
labels below and are always removed: by `run`, by `close`, or by the reaper process if the harness crashes.
"""

import contextlib
import functools
import json
import os
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

from lmrbench_data.base.errors import InfraError

from ..runner import source, zygote_arguments
from ..runner.seccomp import NEEDED_FOR_WALLS, OWNERLESS, REFUSED
from .base import ENVIRONMENT, PYTHON_OPTIONS, Ended, Limits, Outcome, Sandbox
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
from .meter import Meter, collect_output, make_outcome
from .zygote import OWN_PROCESSES, ZYGOTE_CAPABILITIES, ZYGOTE_ENVIRONMENT, Host

#: The process that created a container: `docker ps --filter label=lmrbench.process=PID` lists those of one command.
PROCESS_LABEL = "lmrbench.process"
WORK = "/work"
USER = "65534:65534"
_PROBE_LIMITS = Limits(time_s=0, memory_mb=128)


class DockerSandbox(Sandbox):
    """The containers of one harness process."""

    name = "docker"
    official = True
    zygotes_are_root = False
    """Set where the engine or the machine refuses the walls of an ordinary user's zygote."""
    #: Identity → the daemon's id of an image, for all sandboxes of this process.
    _images: ClassVar[dict[str, str]] = {}

    def __init__(self, benchmark: Path | None = None) -> None:
        """Connect to the daemon; InfraError if none answers."""
        self._benchmark = benchmark
        self.run_id = uuid.uuid4().hex
        self._threads = threading.local()
        self._closed = self._limits_hold = False
        self._reaper: subprocess.Popen[bytes] | None = None
        self._reaper_lock = threading.Lock()
        #: Threads that need the same image wait for the one that builds it.
        self._image_lock = threading.Lock()
        self._api()

    def prepare(self, tag: str) -> str:
        """Pull or build the image if it is missing; return its identity, which all daemons with this image agree on."""
        with self._image_lock:
            image = ensure_image(self._api(), tag, self._benchmark)
            identity = layers_digest(self._api(), image)
            self._images[identity] = image
            return identity

    def run(self, image: str, workspace: bytes, limits: Limits) -> Outcome:
        """Run one workspace in a container of its own."""
        with (
            self.container(
                image,
                limits,
                host={"tmpfs": dict.fromkeys((WORK, "/tmp"), tmpfs_options(limits))},
                command=["python", *PYTHON_OPTIONS, "-c", source("bootstrap.py"), str(len(workspace)), WORK],
                environment={**ENVIRONMENT, "HOME": WORK},
                stdin_open=True,
                network_disabled=True,
            ) as (api, container),
            self.offered_share(image) as offered,
        ):
            meter = Meter(limits, lambda: cpu_seconds(api, container), offered)
            with attached(api, container) as connection:
                api.start(container)
                send(connection, workspace)
                stdout, log, ended = collect_output(StreamReader(connection).read, meter, limits)
                duration, problem = meter.elapsed(), str(ended)
            if ended is Ended.EXITED:
                ended, problem = end_of_container(api, container, log)
                if self._closed and ended is Ended.EXITED:
                    raise InfraError("the sandbox was closed")
            return make_outcome(stdout, log, ended, duration, meter.cpu, problem)

    @contextlib.contextmanager
    def zygote(self, image: str, limits: Limits) -> Iterator[Host]:
        """Start a zygote in a container of its own, and remove it after the block; memory and disk are per answer."""
        options = tmpfs_options(limits)
        profile = {"names": sorted({*REFUSED} - {*NEEDED_FOR_WALLS, *OWNERLESS}), "action": "SCMP_ACT_ERRNO"}
        security = [
            "no-new-privileges",
            "apparmor=unconfined",  # whose profile for containers forbids mounts
            f"seccomp={json.dumps({'defaultAction': 'SCMP_ACT_ALLOW', 'syscalls': [profile]})}",
        ]
        user = int(USER.partition(":")[0])
        arguments = zygote_arguments(user=user, disk_mb=limits.disk_mb, rlimits={}, has_cgroup=True)
        with (
            self.container(
                image,
                Limits(0, limits.memory_mb, limits.processes + OWN_PROCESSES, limits.disk_mb),
                # /proc is not masked, or the kernel refuses to mount that of a job.
                host={
                    "tmpfs": {WORK: options, "/tmp": options},
                    "security_opt": security,
                    "cap_add": list(ZYGOTE_CAPABILITIES) if self.zygotes_are_root else [],
                },
                user="0:0" if self.zygotes_are_root else USER,
                paths={"MaskedPaths": [], "ReadonlyPaths": []},
                command=["python", *PYTHON_OPTIONS, *arguments],
                environment=ZYGOTE_ENVIRONMENT,
                stdin_open=True,
                network_disabled=True,
            ) as (api, container),
            attached(api, container) as connection,
        ):
            checked = engine_errors("Docker engine")
            checked(api.start)(container)
            yield Host(
                send=functools.partial(send, connection),
                read=checked(StreamReader(connection).read),
                cpu_seconds=checked(functools.partial(cpu_seconds, api, container)),
                offered=functools.partial(self.offered_share, image),
                watch=lambda: None,
                end=checked(functools.partial(end_of_container, api, container)),
            )

    @contextlib.contextmanager
    def container(
        self,
        image: str,
        limits: Limits,
        *,
        host: Mapping[str, Any],
        paths: Mapping[str, Any] = MappingProxyType({}),
        **options: Any,
    ) -> Iterator[tuple[Any, str]]:
        """Create a locked-down container and yield (client, id); start it yourself, it is removed after the block.

        Args:
            host: additions to its host configuration, such as tmpfs folders.
            options: options of the container itself, such as its command.
        """
        if self._closed:
            raise InfraError("the sandbox was closed")
        self._start_reaper()
        with engine_errors("Docker engine"):
            api = self._api()
            made = api.create_container(
                image=self._images.get(image, image),
                entrypoint=[],
                labels={RUN_LABEL: self.run_id, PROCESS_LABEL: str(os.getpid())},
                host_config=_host_config(api, limits, host) | paths,
                use_config_proxy=False,  # may hold a password
                **{"user": USER, **options},
            )
            container = made["Id"]
            try:
                if self._closed:  # while the container was being created
                    raise InfraError("the sandbox was closed")
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
                made = self.container(image, _PROBE_LIMITS, host={}, command=command, network_disabled=True)
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
                    raise InfraError(f"the machine's load cannot be measured: {output[-200:]!r}") from None

            yield share

    def close(self) -> None:
        """Remove all containers of this sandbox; if the daemon does not answer, leave them to the reaper."""
        self._closed = True
        clean = False
        with contextlib.suppress(InfraError):
            clean = remove_all(self._api(), self.run_id)
        with self._reaper_lock:
            reaper, self._reaper = self._reaper, None
        if reaper is not None:
            with reaper:  # closes its stdin
                if clean:
                    reaper.communicate(b"done")  # also waits for the detached process, which holds its stdout

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
                    [sys.executable, "-P", "-m", "lmrbench_evaluate.sandbox.reaper", self.run_id, str(os.getpid())],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                )


def tmpfs_options(limits: Limits) -> str:
    """Return the mount options of a folder that code inside may write to."""
    return f"rw,nosuid,nodev,size={limits.disk_mb}m,mode=1777"


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
        raise InfraError("the engine cannot limit memory and processes; without root, it needs cgroup v2")
