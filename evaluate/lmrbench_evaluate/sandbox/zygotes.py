"""Run each answer in a zygote: the common part of all sandboxes here.

How long a zygote lives is the isolation. `shared`: for many answers, one after the other, each behind walls so that
nothing of one is visible to the next. `container`: for one answer, whose container is removed after it.
"""

import contextlib
import threading
from abc import abstractmethod
from collections.abc import Hashable, Sequence
from typing import Literal, get_args

from lmrbench_data.base.errors import InfraError

from .base import Limits, Outcome, Sandbox
from .zygote import GoneError, Zygote

Isolation = Literal["shared", "container"]
ISOLATIONS: tuple[Isolation, Isolation] = get_args(Isolation)
SHARED, CONTAINER = ISOLATIONS
#: Largest number of idle zygotes; beyond it, the one that has been idle longest is ended.
MAX_IDLE = 8
CLOSED = "the sandbox was closed"


class ZygoteSandbox(Sandbox):
    """The zygotes of one harness process: as many as runs at a time, for each kind of answer."""

    def __init__(self, isolation: Isolation) -> None:
        self.isolation = isolation
        self._idle_lock = threading.Lock()
        self._idle: list[tuple[Hashable, Zygote, contextlib.ExitStack]] = []
        self._closed = False

    @abstractmethod
    def zygote(self, image: str, limits: Limits) -> contextlib.AbstractContextManager[Zygote]:
        """Start a zygote, and leave nothing of it after the block."""

    def kind(self, image: str, limits: Limits) -> Hashable:
        """Return what answers have in common that the same zygote can run."""
        return image, limits.memory_mb, limits.processes, limits.disk_mb

    def run(
        self, image: str, workspace: bytes, limits: Limits, modules: Sequence[str] = ()
    ) -> Outcome:
        # A run without libraries may need them with other settings, such as more threads.
        kind = (self.kind(image, limits), bool(modules))
        while True:
            with contextlib.ExitStack() as ends:
                zygote = self._idle_one(kind, ends)
                is_new = zygote is None
                zygote = zygote or ends.enter_context(self.zygote(image, limits))
                try:
                    outcome, is_well = zygote.run(modules, workspace, limits)
                except GoneError:
                    if is_new or self._closed:
                        raise
                    continue
                if self._closed:
                    raise InfraError(CLOSED)
                if is_well and self.isolation == SHARED:
                    self._keep(kind, zygote, ends.pop_all())
                return outcome

    def close(self) -> None:
        with self._idle_lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for _, _, ends in idle:
            ends.close()

    def _idle_one(self, kind: Hashable, ends: contextlib.ExitStack) -> Zygote | None:
        """Take an idle zygote of this kind, if there is one; `ends` ends it."""
        with self._idle_lock:
            if self._closed:
                raise InfraError(CLOSED)
            for place in reversed(range(len(self._idle))):
                if self._idle[place][0] == kind:
                    _, zygote, its_end = self._idle.pop(place)
                    ends.push(its_end)
                    return zygote
        return None

    def _keep(self, kind: Hashable, zygote: Zygote, ends: contextlib.ExitStack) -> None:
        with self._idle_lock:
            self._idle.append((kind, zygote, ends))
            is_surplus = len(self._idle) > MAX_IDLE or self._closed
            surplus = self._idle.pop(0)[2] if is_surplus else None
        if surplus:
            surplus.close()
