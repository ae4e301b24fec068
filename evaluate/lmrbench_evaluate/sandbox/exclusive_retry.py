"""Run workspaces in parallel; retry alone those that an overloaded machine kept from running."""

import contextlib
import threading
from collections.abc import Iterator, Sequence

from lmrbench_data.base.errors import OverloadError

from .base import Limits, Outcome, Sandbox


def run_with_exclusive_retry(
    sandbox: Sandbox, image: str, workspace: bytes, limits: Limits, modules: Sequence[str] = ()
) -> Outcome:
    """Run a workspace; if the machine had no time for it, retry once while nothing else runs here.

    Raises:
        OverloadError: the machine had no time for the retry either.
        InfraError: the machinery failed.
    """
    try:
        with _turns.shared():
            return sandbox.run(image, workspace, limits, modules)
    except OverloadError:
        with _turns.alone():
            return sandbox.run(image, workspace, limits, modules)


class _Turns:
    """A lock with shared and exclusive holders; a waiting exclusive one precedes later ones."""

    def __init__(self) -> None:
        self._door = threading.Lock()
        self._changed = threading.Condition()
        self._running = 0

    @contextlib.contextmanager
    def shared(self) -> Iterator[None]:
        """Hold the lock together with others."""
        with self._door, self._changed:
            self._running += 1
        try:
            yield
        finally:
            with self._changed:
                self._running -= 1
                self._changed.notify_all()

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the lock alone: keep the door closed from now on."""
        with self._door:
            with self._changed:
                self._changed.wait_for(lambda: not self._running)
            yield


_turns = _Turns()
