"""Run answers in warm containers, one after the other (`--isolation shared`): for training and quick looks.

Verdicts are those of the `docker` sandbox at a small part of its cost. They are never official: answers share a
container with a root process, and the cases of an answer share a process.
"""

import functools
import threading
from collections.abc import Callable
from pathlib import Path

from lmrbench_data.base.errors import InfraError

from .base import Limits, Outcome, Sandbox
from .docker import DockerSandbox
from .turns import Run
from .warm import GoneError, Recipe, WarmContainer

#: Largest number of idle containers; beyond it, the one that has been idle longest is removed.
MAX_IDLE = 8

_Kind = tuple[str, int, int]
_NO_INSTANCE = Recipe("")


class SharedSandbox(Sandbox):
    """The warm containers of one harness process: as many as runs at a time, for each image and memory limit."""

    name = "docker-shared"
    official = False

    def __init__(self, benchmark: Path | None = None) -> None:
        """Connect to the daemon, like `DockerSandbox`; containers are started as answers come."""
        self._docker = DockerSandbox(benchmark)
        self._lock = threading.Lock()
        self._idle: list[tuple[_Kind, WarmContainer]] = []
        self._recipes: dict[str, Recipe] = {}
        self._closed = False

    def prepare(self, tag: str) -> str:
        """Pull or build the image if it is missing; return its identity."""
        return self._docker.prepare(tag)

    def run(self, image: str, workspace: bytes, limits: Limits, recipe: Recipe = _NO_INSTANCE) -> Outcome:
        """Run one workspace; the recipe holds what the answers to its instance share."""
        kind = (image, limits.memory_mb, limits.disk_mb)
        while True:
            container = self._take(kind)
            is_new = container is None
            container = container or WarmContainer(self._docker, image, limits)
            alive = False
            try:
                outcome, alive = container.run(recipe, workspace, limits)
                return outcome
            except GoneError:
                if is_new:
                    raise
            finally:
                if alive:
                    self._give(kind, container)
                else:
                    container.close()

    def serving(self, instance: str, recipe: Callable[[], Recipe]) -> Run:
        """Return `run` for the answers to one instance.

        Args:
            recipe: called for the first answer.
        """
        with self._lock:
            if instance not in self._recipes:
                self._recipes[instance] = recipe()
            return functools.partial(self.run, recipe=self._recipes[instance])

    def close(self) -> None:
        """Remove all containers; pending calls of `run` raise InfraError."""
        self._closed = True
        self._docker.close()
        with self._lock:
            idle, self._idle = self._idle, []
        for _, container in idle:
            container.close()

    def _take(self, kind: _Kind) -> WarmContainer | None:
        with self._lock:
            if self._closed:
                raise InfraError("the sandbox was closed")
            place = next((place for place, (known, _) in enumerate(self._idle) if known == kind), None)
            return None if place is None else self._idle.pop(place)[1]

    def _give(self, kind: _Kind, container: WarmContainer) -> None:
        with self._lock:
            self._idle.append((kind, container))
            surplus = [self._idle.pop(0)[1]] if len(self._idle) > MAX_IDLE or self._closed else []
        for one in surplus:
            one.close()
