"""Run answers that share loaded libraries (`--isolation shared`): for training and quick looks.

Each answer has walls of its own, in Docker and in bubblewrap, at a small part of the cost of a fresh container. Results
are never official, because the cases of an answer share a process.
"""

import contextlib
import functools
import logging
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from lmrbench_data.base.errors import InfraError

from .base import Limits, Outcome, Sandbox
from .exclusive_retry import Run
from .zygote import GoneError, Zygote

if TYPE_CHECKING:  # they need more libraries than the container of a Harbor task has
    from .bwrap import BwrapSandbox
    from .docker import DockerSandbox

#: Largest number of idle zygotes; beyond it, the one that has been idle longest is ended.
MAX_IDLE = 8

_log = logging.getLogger(__name__)
_Kind = tuple[str, int, int]


class SharedSandbox(Sandbox):
    """The zygotes of one harness process: as many as runs at a time, for each image and memory limit."""

    official = False

    def __init__(self, wall: "DockerSandbox | BwrapSandbox") -> None:
        """Zygotes are started in `wall` as answers come."""
        self._wall, self.name = wall, f"{wall.name}-shared"
        self._lock = threading.Lock()
        self._idle: list[tuple[_Kind, Zygote, contextlib.ExitStack]] = []
        self._modules: dict[str, Sequence[str]] = {}
        self._closed = False

    def prepare(self, tag: str) -> str:
        return self._wall.prepare(tag)

    def run(self, image: str, workspace: bytes, limits: Limits, modules: Sequence[str] = ()) -> Outcome:
        """Run one workspace; `modules` are the libraries that the answers to its instance import."""
        kind = (image, limits.memory_mb, limits.disk_mb)
        while True:
            zygote, ends, is_new = self._take(kind, limits)
            is_well = False
            try:
                outcome, is_well = zygote.run(modules, workspace, limits)
                return outcome
            except GoneError:
                if is_new:
                    raise
            finally:
                if is_well:
                    self._give(kind, zygote, ends)
                else:
                    ends.close()

    def serving(self, instance: str, modules: Callable[[], Sequence[str]]) -> Run:
        """Return `run` for the answers to one instance; its modules are asked for once."""
        with self._lock:
            if instance not in self._modules:
                self._modules[instance] = modules()
            return functools.partial(self.run, modules=self._modules[instance])

    def close(self) -> None:
        self._closed = True
        self._wall.close()
        with self._lock:
            idle, self._idle = self._idle, []
        for _, _, ends in idle:
            ends.close()

    def _take(self, kind: _Kind, limits: Limits) -> tuple[Zygote, contextlib.ExitStack, bool]:
        """Return a zygote, what ends it, and whether it is new."""
        with self._lock:
            if self._closed:
                raise InfraError("the sandbox was closed")
            for place, (known, zygote, ends) in reversed([*enumerate(self._idle)]):
                if known == kind:
                    del self._idle[place]
                    return zygote, ends, False
        as_root = self._wall.zygotes_are_root
        try:
            return *self._start(kind[0], limits), True
        except GoneError as error:  # no failure of the engine is a reason for more rights
            if as_root or self._closed:
                raise
            reason = str(error)
        self._wall.zygotes_are_root = True
        started = self._start(kind[0], limits)
        _log.warning("%s; containers that share libraries get root with SYS_ADMIN, which tested code never has", reason)
        return *started, True

    def _start(self, image: str, limits: Limits) -> tuple[Zygote, contextlib.ExitStack]:
        with contextlib.ExitStack() as ends:
            return Zygote(ends.enter_context(self._wall.zygote(image, limits))), ends.pop_all()

    def _give(self, kind: _Kind, zygote: Zygote, ends: contextlib.ExitStack) -> None:
        with self._lock:
            self._idle.append((kind, zygote, ends))
            surplus = [self._idle.pop(0)[2]] if len(self._idle) > MAX_IDLE or self._closed else []
        for one in surplus:
            one.close()
