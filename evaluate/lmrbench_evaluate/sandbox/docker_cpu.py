"""What a container has used of the processor, and what there is to use beside it: the two measurements of `meter`."""

import contextlib
from collections.abc import Callable
from typing import Any

from lmrbench_data.base.errors import InfraError

from ..runner import probe
from .base import Limits

_LIMITS = Limits(time_s=0, memory_mb=128)
_IDLE = "import time; time.sleep(1e6)"


def cpu_seconds(api: Any, container: str) -> float:
    """CPU seconds of a container so far, all of its processes, from its cgroup; 0 if the daemon does not know."""
    # Since 1.41 a daemon can answer at once; before, it first measures for a second or two.
    version = tuple(int(part) for part in api.api_version.split("."))
    at_once = {"one_shot": True} if version >= (1, 41) else {}
    usage = api.stats(container, stream=False, **at_once).get("cpu_stats", {}).get("cpu_usage", {})
    return float(usage.get("total_usage", 0)) / 1e9


class CpuProbe:
    """A container beside a run's, made when it is first asked, in which a process spins to see what there is to get.

    Beside, not inside: what the run does to its own container cannot change what this one measures.
    """

    def __init__(self, make: Callable[..., contextlib.AbstractContextManager[tuple[Any, str]]], user: str) -> None:
        """Make nothing yet.

        Args:
            make: `DockerSandbox.container` with its image.
        """
        self._make, self._user = make, user
        self._made = contextlib.ExitStack()
        self._container: tuple[Any, str] | None = None

    def share(self, seconds: float) -> float:
        """The share of a processor that a process gets which spins for so long.

        Raises:
            InfraError: the daemon fails, or the process says nothing.
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
