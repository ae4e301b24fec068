"""Make an environment's image available: find, pull or build it."""

import hashlib
import io
import logging
import os
import tempfile
from collections import deque
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from lmrbench_data.base.errors import InfraError
from lmrbench_data.tasks.environments import Environment, known_environments, registry_tag

from .docker_client import engine_errors

#: Network of build steps (`host` where the default network reaches no package index).
BUILD_NETWORK_VARIABLE = "LMRBENCH_BUILD_NETWORK"
#: Passed on to builds when set in the environment.
_BUILD_ARGUMENTS = ("PIP_EXTRA_INDEX_URL",)
_log = logging.getLogger(__name__)


def ensure_image(api: Any, tag: str, benchmark: Path | None = None) -> str:
    """Return the daemon's id of an image, pulled or built first if it is missing.

    If several processes of a user find it missing, one makes it and the others wait.

    Raises:
        InfraError: it can be neither pulled nor built.
    """
    if identity := image_id(api, tag):
        return identity
    lock = FileLock(Path(tempfile.gettempdir(), f"lmrbench-images-{os.getuid()}.lock"))
    try:
        held = lock.acquire(blocking=False)
    except Timeout:
        _log.info("image %s is missing: waiting for another process, which is making one", tag)
        held = lock.acquire()
    with held:
        return image_id(api, tag) or _make_image(api, tag, benchmark)


def _make_image(api: Any, tag: str, benchmark: Path | None) -> str:
    """Pull an image, or build it."""
    environment = next((item for item in known_environments(benchmark) if item.tag == tag), None)
    need = f" It takes about {environment.disk_mb / 1000:.1f} GB of disk." if environment else ""
    if registry_tag(tag) != tag:
        _log.info("image %s is missing: pulling %s.%s", tag, registry_tag(tag), need)
        try:
            return pull_image(api, tag)
        except InfraError as error:
            if environment is None:
                raise
            _log.warning("%s", error)
    if environment is None:
        raise InfraError(
            f"image {tag} is missing, and this installation has no environment with that content; "
            "set LMRBENCH_REGISTRY to a registry that has the image, "
            "install the version of lmrbench that built the dataset, "
            "or build the image from your own benchmark: `lmrbench images build --benchmark DIR`"
        )
    _log.info("image %s is missing: building it from %s/.%s", tag, environment.folder.name, need)
    return build_image(api, environment)


def image_id(api: Any, tag: str) -> str | None:
    """Return the daemon's id of a local image; None if no image has this tag."""
    import docker.errors

    with engine_errors(f"image {tag}"):
        try:
            return str(api.inspect_image(tag)["Id"])
        except docker.errors.ImageNotFound:
            return None


def layers_digest(api: Any, image: str) -> str:
    """Return a hash of an image's layers; its id also depends on how its daemon stores images."""
    with engine_errors(f"image {image}"):
        layers = api.inspect_image(image)["RootFS"]["Layers"]
    return f"sha256:{hashlib.sha256(' '.join(layers).encode()).hexdigest()}"


def pull_image(api: Any, tag: str) -> str:
    """Pull an image from the configured registry and give it its plain tag."""
    name = registry_tag(tag)
    with engine_errors(f"cannot pull {name}"):
        _follow(api.pull(name, stream=True, decode=True), f"pulling {name}")
        api.tag(name, *tag.rsplit(":", 1))
        return str(api.inspect_image(tag)["Id"])


def build_image(api: Any, environment: Environment) -> str:
    """Build an environment's image under its content-hashed tag; return the daemon's id."""
    passed = {name: os.environ[name] for name in _BUILD_ARGUMENTS if os.environ.get(name)}
    with engine_errors(f"building {environment.tag}"):
        lines = api.build(
            fileobj=io.BytesIO(environment.context()),
            custom_context=True,
            tag=environment.tag,
            network_mode=os.environ.get(BUILD_NETWORK_VARIABLE) or None,
            buildargs=passed,
            rm=True,
            forcerm=True,
            decode=True,
        )
        _follow(lines, f"building {environment.tag}")
    identity = image_id(api, environment.tag)
    if identity is None:
        raise InfraError(f"building {environment.tag} ended without an image")
    return identity


def _follow(lines: Iterable[Mapping[str, Any]], action: str) -> None:
    """Log the steps of a build or pull; its error is an InfraError."""
    recent: deque[str] = deque(maxlen=5)
    for line in lines:
        if "error" in line:
            before = " | ".join(recent)[-400:]
            raise InfraError(f"{action} failed: {line['error']} (after: {before})")
        if "id" in line:  # the progress of one layer
            continue
        text = str(line.get("stream") or line.get("status") or "").strip()
        if text and text not in recent:
            recent.append(text)
            if "status" in line or text.startswith("Step "):
                _log.info("  %s", text)
