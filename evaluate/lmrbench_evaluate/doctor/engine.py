"""The container engine: does it answer, does it have the images, and do our limits hold in a container?"""

import json
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lmrbench_data.base.errors import InfraError
from lmrbench_data.loader import File, tar_bytes
from lmrbench_data.tasks.environments import REGISTRY_VARIABLE, Environment, known_environments, registry_tag

from ..sandbox.base import Limits
from ..sandbox.docker import DockerSandbox
from ..sandbox.docker_client import connect, engine_errors
from ..sandbox.images import image_id
from .finding import Finding, gigabytes, note, ok, problem

_SOCKET = Path("/var/run/docker.sock")
#: Seconds for the engine's checks; the first request to Podman takes several on a busy machine.
ENGINE_S = 10
#: Seconds for one request: fewer, so that a silent engine can be distinguished from a slow check.
_REQUEST_S = 8
_LIMITS = Limits(time_s=20, memory_mb=256, processes=64)


class Engine:
    """The engine that DOCKER_HOST names; the first check connects to it, the others need the connection."""

    def __init__(self, benchmark: Path | None = None) -> None:
        self.benchmark = benchmark
        self.answers = False
        self.hangs = False
        """Whether it accepts requests but does not answer them."""
        self.info: dict[str, Any] = {}
        self.missing: list[Environment] = []
        """Environments without an image."""
        self.images: dict[str, str] = {}
        """Tag → content address of each image that is there."""

    @property
    def is_here(self) -> bool:
        """Whether the engine shares this machine's memory and disks."""
        host = os.environ.get("DOCKER_HOST", "unix://")
        return self.answers and host.startswith(("unix:", "http+unix:")) and self.storage.exists()

    @property
    def storage(self) -> Path:
        """The folder in which the engine keeps images."""
        return Path(self.info.get("DockerRootDir") or "/var/lib/docker")

    def look(self) -> Iterator[Finding]:
        """Connect and describe the engine."""
        try:
            api = connect(_REQUEST_S)
            with engine_errors("the engine fails"):
                version, self.info = api.version(), api.info()
        except InfraError as error:
            reason = str(error).rpartition(": ")[2]
            self.hangs = "timed out" in str(error)
            yield note("engine", f"no Docker or Podman answers ({reason})", _start_command(reason))
            return
        self.answers = True
        yield ok("engine", ", ".join(filter(None, _description(version, self.info))))
        if ignored := [word for key, word in _LIMIT_KEYS.items() if self.info.get(key) is False]:
            fix = "delegate the cgroup controllers to the engine, or run it as root"
            yield note("engine", f"it cannot limit {', '.join(ignored)}", fix)
        if self.info.get("Driver") == "vfs":
            fix = "configure the storage driver overlay2 (Podman: overlay)"
            yield note("engine", "storage driver vfs copies the whole image for each container: slow", fix)

    def look_for_images(self) -> Iterator[Finding]:
        """Look for the image of each environment."""
        api = connect(_REQUEST_S)
        for environment in known_environments(self.benchmark):
            if identity := image_id(api, environment.tag):
                self.images[environment.tag] = identity
                yield ok("image", f"{environment.tag} is here ({identity[:19]})")
            else:
                self.missing.append(environment)
                yield note("image", *_missing(environment, self.benchmark))

    def try_containers(self) -> Iterator[Finding]:
        """Start a container of each image with the sandbox's own limits, and read the limits inside."""
        program = (Path(__file__).parent / "inside.py").read_bytes()
        workspace = tar_bytes({"harness/runner.py": File(program)})
        with DockerSandbox(self.benchmark) as sandbox:
            for tag, identity in self.images.items():
                began = time.monotonic()
                try:
                    outcome = sandbox.run(identity, workspace, _LIMITS)
                    seen = json.loads(outcome.stdout)
                except (InfraError, ValueError) as error:
                    fix = "restart the engine, and see its log"
                    yield problem("container", f"{tag} does not run: {str(error)[:300]}", fix)
                    continue
                yield compare_walls(seen, time.monotonic() - began)


#: Keys of the engine's description → limits that it may not support.
_LIMIT_KEYS = {"MemoryLimit": "memory", "PidsLimit": "processes", "CpuCfsQuota": "CPU time"}


def _description(version: dict[str, Any], info: dict[str, Any]) -> Iterator[str]:
    components = [str(item.get("Name")) for item in version.get("Components") or ()]
    name = "Podman" if any("podman" in item.lower() for item in components) else "Docker"
    yield f"{name} {version.get('Version', '?')}"
    yield "rootless" if any("rootless" in str(item) for item in info.get("SecurityOptions") or ()) else ""
    yield f"cgroup v{info['CgroupVersion']}" if info.get("CgroupVersion") else ""
    yield f"storage {info['Driver']}" if info.get("Driver") else ""


def _start_command(reason: str) -> str:
    """Return the command that probably makes the engine answer."""
    if host := os.environ.get("DOCKER_HOST"):
        return f"start the engine at DOCKER_HOST={host}, or `unset DOCKER_HOST`"
    if "ermission denied" in reason:
        return "sudo usermod -aG docker $USER, then log in again"
    if _SOCKET.exists() or shutil.which("dockerd"):
        return "sudo systemctl start docker"
    if shutil.which("podman"):
        return "systemctl --user start podman.socket; export DOCKER_HOST=unix://$XDG_RUNTIME_DIR/podman/podman.sock"
    return "install Docker or Podman; without one, results do not count for the leaderboard"


def _missing(environment: Environment, benchmark: Path | None) -> tuple[str, str]:
    size = gigabytes(environment.disk_mb * 1e6)
    name = registry_tag(environment.tag)
    if name != environment.tag:
        return f"{environment.tag} is missing; the first evaluation pulls it ({size})", f"docker pull {name}"
    own = benchmark is not None and environment.folder.is_relative_to(benchmark)
    command = f"lmrbench images build {environment.name}" + (f" --benchmark {benchmark}" if own else "")
    found = f"{environment.tag} is missing; the first evaluation builds it ({size})"
    return found, f"{command} (or set {REGISTRY_VARIABLE} to pull it)"


def compare_walls(seen: dict[str, Any], seconds: float) -> Finding:
    """Compare the report from a container (`inside`) with the walls and limits that it was given."""
    open_walls = [word for key, word in _WALLS.items() if not seen.get(key)]
    limits = {"memory": _LIMITS.memory_mb * 2**20, "processes": _LIMITS.processes}
    loose = [name for name, most in limits.items() if not isinstance(seen.get(name), int) or seen[name] > most]
    if open_walls:
        fix = "do not evaluate untrusted answers with this engine"
        return problem("container", f"tested code is not isolated: {', '.join(open_walls)}", fix)
    if loose:
        fix = "use an engine with cgroup v2, or run it as root"
        return note("container", f"it runs, but without a limit on {' and '.join(loose)}", fix)
    return ok("container", f"runs in {seconds:.1f} s; isolated, limits hold")


#: Condition that must hold inside → the problem if it does not.
_WALLS = {
    "unprivileged": "it runs as root",
    "read_only_root": "it can write to the image's files",
    "no_network": "it has a network",
    "no_capabilities": "it has root capabilities",
}
