"""Build and find the image of an agent: the image of the task with the agent installed.

`lmrbench images build --agent` builds it; a run only checks that it exists.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from lmrbench_data.base.archive import read_tree, tar_bytes
from lmrbench_data.base.errors import InputError
from lmrbench_data.loader import File
from lmrbench_data.tasks.environments import Environment
from lmrbench_evaluate.sandbox.docker_client import connect
from lmrbench_evaluate.sandbox.images import build_image, ensure_image, image_id

_FOLDERS = Path(__file__).with_name("images")


@dataclass(frozen=True)
class Pinned:
    """An agent in the version that its image installs."""

    version: str
    since: date
    """The day on which it was pinned."""
    disk_mb: int
    """Disk space that it adds to the task's image, measured."""


PINNED = {
    "claude-code": Pinned("2.1.197", date(2026, 11, 29), 250),
    "codex": Pinned("0.171.0", date(2026, 11, 29), 400),
    "mini-swe-agent": Pinned("2.4.6", date(2026, 11, 26), 300),
    "openhands": Pinned("1.58.0", date(2026, 11, 22), 500),
}
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class AgentImage(Environment):
    """The recipe of an agent's image; its tag changes with its folder and with the task's image."""

    base: str
    """The tag of the task's image."""

    def context(self) -> bytes:
        """Return the build context, with the task's image in its Dockerfile."""
        files = read_tree(self.folder)
        dockerfile = files["Dockerfile"].data.decode()
        dockerfile = dockerfile.replace("ARG ENVIRONMENT\n", f"ARG ENVIRONMENT={self.base}\n", 1)
        return tar_bytes({**files, "Dockerfile": File(dockerfile.encode(), False)})


def agent_image(agent: str, base: str) -> AgentImage:
    """Return the image of an agent on the image of a task; InputError if the agent has none."""
    if agent not in PINNED:
        known = ", ".join(PINNED)
        raise InputError(f"{agent!r} is not an agent with an image of its own; known: {known}")
    return AgentImage(_FOLDERS / agent, f"{agent} on {base}", PINNED[agent].disk_mb, base)


def find_agent_image(api: Any, agent: str, base: str) -> str:
    """Return the content address of an agent's image; InputError if it has not been built."""
    identity = image_id(api, agent_image(agent, base).tag)
    if identity:
        return identity
    how = f"`lmrbench images build --agent {agent}` (with --benchmark, if the tasks are your own)"
    raise InputError(f"{agent} has no image on {base} yet; build it with {how}")


def build_agent_images(
    agent: str, bases: Sequence[str], benchmark: Path | None = None
) -> dict[str, str]:
    """Build an agent's images on several images of tasks, which are built if missing.

    Args:
        benchmark: a folder of tasks whose environments can be built besides the installed ones.

    Returns:
        Tag → content address.

    Raises:
        InputError: the agent has no image of its own.
        InfraError: there is no Docker, or a step of a build fails.
    """
    images = [agent_image(agent, base) for base in bases]
    api = connect()
    built = {}
    for item in images:
        size = f"{item.disk_mb / 1000:.1f} GB"
        _log.info("building %s: about %s of disk beside %s", item.tag, size, item.base)
        ensure_image(api, item.base, benchmark)
        built[item.tag] = build_image(api, item)
    return built
