"""Run each answer in a zygote: the common part of all sandboxes here.

How long a zygote lives is the isolation. `shared`: for many answers, one after the other, each
behind walls that hide it from the next. `container`: for one answer; then its container is removed.
"""

import contextlib
import threading
from abc import abstractmethod
from collections.abc import Hashable, Sequence
from typing import Literal, NamedTuple, get_args

from lmrbench_data.base.errors import InfraError

from .base import Limits, Outcome, Sandbox
from .zygote import GoneError, Zygote

Isolation = Literal["shared", "container"]
ISOLATIONS: tuple[Isolation, Isolation] = get_args(Isolation)
SHARED, CONTAINER = ISOLATIONS
#: Largest number of idle zygotes; beyond it, the one that has been idle longest is ended.
MAX_IDLE = 8


class _OpenZygote(NamedTuple):
    kind: Hashable
    zygote: Zygote
    ends: contextlib.ExitStack
    """Ends the zygote."""


class ZygoteSandbox(Sandbox):
    """The zygotes of one harness process: one for each parallel run, for each kind of answer."""

    def __init__(self, isolation: Isolation) -> None:
        self.isolation = isolation
        self._lock = threading.Lock()
        self._idle: list[_OpenZygote] = []
        self._closed = False

    @abstractmethod
    def zygote(self, image: str, limits: Limits) -> contextlib.AbstractContextManager[Zygote]:
        """Start a zygote, and leave nothing of it after the block."""

    def kind(self, image: str, limits: Limits) -> Hashable:
        """Return what answers must have in common to run in the same zygote."""
        return image, limits.memory_mb, limits.processes, limits.disk_mb

    def run(
        self, image: str, workspace: bytes, limits: Limits, modules: Sequence[str] = ()
    ) -> Outcome:
        # A run without modules loads libraries itself, with its own settings, such as more threads.
        kind = (self.kind(image, limits), bool(modules))
        while idle := self._take_idle(kind):
            with contextlib.suppress(GoneError):
                return self._run_in(idle, modules, workspace, limits)
        ends = contextlib.ExitStack()
        zygote = ends.enter_context(self.zygote(image, limits))
        return self._run_in(_OpenZygote(kind, zygote, ends), modules, workspace, limits)

    def _run_in(
        self, opened: _OpenZygote, modules: Sequence[str], workspace: bytes, limits: Limits
    ) -> Outcome:
        """Run an answer in a zygote, which is then idle, or is ended."""
        with contextlib.ExitStack() as ends:
            ends.push(opened.ends)
            outcome, can_take_another = opened.zygote.run(modules, workspace, limits)
            self.refuse_if_closed()
            if can_take_another and self.isolation == SHARED:
                ends.pop_all()
                self._keep(opened)
            return outcome

    def close(self) -> None:
        with self._lock:
            self._closed = True
            idle = self._idle
            self._idle = []
        for opened in idle:
            opened.ends.close()

    def refuse_if_closed(self) -> None:
        """Raise InfraError once `close` has been called."""
        if self._closed:
            raise InfraError("the sandbox was closed")

    def _take_idle(self, kind: Hashable) -> _OpenZygote | None:
        with self._lock:
            self.refuse_if_closed()
            for idle in reversed(self._idle):
                if idle.kind == kind:
                    self._idle.remove(idle)
                    return idle
        return None

    def _keep(self, opened: _OpenZygote) -> None:
        surplus = None
        with self._lock:
            self._idle.append(opened)
            if self._closed or len(self._idle) > MAX_IDLE:
                surplus = self._idle.pop(0)
        if surplus:
            surplus.ends.close()
