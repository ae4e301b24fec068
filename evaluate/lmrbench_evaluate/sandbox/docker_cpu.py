"""Measure the CPU time that a container has used, and the share of a processor that it could have used."""

import contextlib
from collections.abc import Callable
from typing import Any

from lmrbench_data.base.errors import InfraError

from ..runner import probe
from .base import Limits

_LIMITS = Limits(time_s=0, memory_mb=128)
_IDLE = "import time; time.sleep(1e6)"


def cpu_seconds(api: Any, container: str) -> float:
    """Return the CPU seconds of all processes of a container so far, from its cgroup; 0 if the daemon does not know."""
    # From API 1.41 on a daemon can answer at once; older ones first measure for a second or two.
    version = tuple(int(part) for part in api.api_version.split("."))
    at_once = {"one_shot": True} if version >= (1, 41) else {}
    usage = api.stats(container, stream=False, **at_once).get("cpu_stats", {}).get("cpu_usage", {})
    return float(usage.get("total_usage", 0)) / 1e9


class CpuProbe:
    """Measures, in a container of its own, the share of a processor that is available beside a run.

    The run cannot affect the measurement through its own container. The probe's container is created on first use.
    """

    def __init__(self, make: Callable[..., contextlib.AbstractContextManager[tuple[Any, str]]], user: str) -> None:
        """Store how to create the container.

        Args:
            make: `DockerSandbox.container` for one image.
        """
        self._make, self._user = make, user
        self._made = contextlib.ExitStack()
        self._container: tuple[Any, str] | None = None

    def share(self, seconds: float) -> float:
        """Let a process spin for some seconds and return the share of a processor that it got.

        Raises:
            InfraError: the daemon failed, or the process reported nothing.
        """
        if self._container is None:
            command = ["python", "-I", "-S", "-c", _IDLE]
            made = self._make(limits=_LIMITS, host={}, command=command, network_disabled=True)
            api, container = self._container = self._made.enter_context(made)
            api.start(container)
        api, container = self._container
        command = ["python", "-I", "-S", "-c", probe(), str(seconds)]
        said = api.exec_start(api.exec_create(container, command, user=self._user)["Id"])
        try:
            return float(said)
        except ValueError:
            raise InfraError(f"the machine's load cannot be measured: {said[-200:]!r}") from None

    def close(self) -> None:
        """Remove the container."""
        self._made.close()
