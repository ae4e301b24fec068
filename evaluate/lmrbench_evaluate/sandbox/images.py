"""Make an environment's image available: look, pull from the configured registry, or build from our own folder."""

import logging
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from lmrbench_data.base.errors import InfraError
from lmrbench_data.tasks.environments import Environment, known_environments, registry_tag

#: Network of build steps (`host` where the default network of builds reaches no package index).
BUILD_NETWORK_VARIABLE = "LMRBENCH_BUILD_NETWORK"
#: Passed on to builds when set in the environment.
_BUILD_ARGUMENTS = ("PIP_EXTRA_INDEX_URL",)
_log = logging.getLogger(__name__)


def ensure_image(api: Any, tag: str, benchmark: Path | None = None) -> str:
    """The content address of the image `tag`, pulled or built first if it is missing.

    Args:
        benchmark: a folder of tasks whose environments can be built as well as the installed ones.

    Raises:
        InfraError: it is neither here nor in the registry, and this installation cannot build it.
    """
    if identity := image_id(api, tag):
        return identity
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
            f"image {tag} is not here, and this installation has no environment of that content; "
            "set LMRBENCH_REGISTRY to a registry that has it, "
            "install the version of lmrbench-data that made the dataset, "
            "or build it from a benchmark of your own: `lmrbench images build --benchmark DIR`"
        )
    _log.info("image %s is missing: building it from %s/.%s", tag, environment.folder.name, need)
    return build_image(api, environment)


def image_id(api: Any, tag: str) -> str | None:
    """The content address of a local image, None if there is none of that tag."""
    import docker.errors

    try:
        return str(api.inspect_image(tag)["Id"])
    except docker.errors.ImageNotFound:
        return None


def pull_image(api: Any, tag: str) -> str:
    """Pull from the configured registry and give the image its plain tag."""
    import docker.errors

    name = registry_tag(tag)
    try:
        _follow(api.pull(name, stream=True, decode=True), f"pulling {name}")
    except docker.errors.APIError as error:
        limited = " (the registry limits the rate: wait, or log in)" if "toomanyrequests" in str(error).lower() else ""
        raise InfraError(f"cannot pull {name}: {error.explanation or error}{limited}") from error
    api.tag(name, *tag.rsplit(":", 1))
    return str(api.inspect_image(tag)["Id"])


def build_image(
    api: Any,
    environment: Environment,
    *,
    network: str | None = None,
    arguments: Mapping[str, str] | None = None,
) -> str:
    """Build an environment's image under its content-hashed tag; return the content address.

    Args:
        network: of the build steps; `$LMRBENCH_BUILD_NETWORK` if None.
        arguments: build arguments, added to those taken from the environment.
    """
    import io

    passed = {name: os.environ[name] for name in _BUILD_ARGUMENTS if os.environ.get(name)}
    lines = api.build(
        fileobj=io.BytesIO(environment.context()),
        custom_context=True,
        tag=environment.tag,
        network_mode=network or os.environ.get(BUILD_NETWORK_VARIABLE) or None,
        buildargs={**passed, **(arguments or {})},
        rm=True,
        forcerm=True,
        decode=True,
    )
    _follow(lines, f"building {environment.tag}")
    identity = image_id(api, environment.tag)
    if identity is None:
        raise InfraError(f"building {environment.tag} ended without an image")
    return identity


def push_image(api: Any, tag: str) -> str:
    """Push a local image to the configured registry; return its name there.

    Raises:
        InfraError: no registry is configured, the image is missing, or the registry refuses it.
    """
    name = registry_tag(tag)
    if name == tag:
        raise InfraError("no registry is configured; set LMRBENCH_REGISTRY, for example to ghcr.io/org")
    if image_id(api, tag) is None:
        raise InfraError(f"image {tag} is not here; run `lmrbench images build` first")
    api.tag(tag, *name.rsplit(":", 1))
    _follow(api.push(name, stream=True, decode=True), f"pushing {name}")
    return name


def _follow(lines: Iterable[Mapping[str, Any]], what: str) -> None:
    """Log the steps of a build, pull or push; raise what the stream reports as an error."""
    recent: list[str] = []
    last_status = ""
    for line in lines:
        text = str(line.get("stream", "")).strip()
        status = str(line.get("status", ""))
        if text:
            recent = [*recent[-4:], text]
            if text.startswith("Step "):
                _log.info("  %s", text)
        if status and status != last_status and not line.get("id"):
            _log.info("  %s", status)
        last_status = status or last_status
        if "error" in line:
            raise InfraError(f"{what} failed: {line['error']} (before it: {' | '.join(recent)[-400:]})")
