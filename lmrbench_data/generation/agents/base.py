"""The interface of agents: an agent works in a box until it is done or its time is up."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from lmrbench_evaluate.sandbox.docker import DockerSandbox

from ...base.errors import InfraError
from ...base.text import one_line
from .box import Box, CpuMeter
from .relay import Relay

TIME_LIMIT = "time_limit"
#: The file among the records of an agent that holds its output.
OUTPUT = "output.log"


@dataclass(frozen=True)
class Job:
    """One instance that an agent works on."""

    box: Box
    relay: Relay
    trajectory: Path
    """A folder on this machine for the records of the agent."""
    max_steps: int | None
    deadline: float
    """In `time.monotonic()`."""
    cpu: CpuMeter

    def rest(self) -> float:
        """Return the remaining seconds; none once the CPU budget is spent."""
        return 0.0 if self.cpu.is_over else self.deadline - time.monotonic()

    def check_start(self, name: str, status: int, output: bytes) -> None:
        """Check that a failed process had sent a request to the model: if not, the mistake may be the user's.

        Args:
            name: name of the process in the message.
            output: output of the process; its last line gives the reason.

        Raises:
            InfraError: it had sent no request.
        """
        has_asked = self.relay.steps or self.relay.limit or self.relay.failure
        if status and not has_asked and not self.cpu.is_over:
            last = one_line(output.decode("utf-8", "replace").strip().rpartition("\n")[2])
            raise InfraError(f"{name} did not start (exit {status}: {last[:300]}); see {self.trajectory / OUTPUT}")


class Agent(Protocol):
    """An agent; one object serves several threads."""

    name: str
    """As in the setting of its rows: `agent:<name>`."""

    def image(self, sandbox: DockerSandbox, tag: str) -> str:
        """Return the content address of the image for its boxes: the task's, unless the agent has its own."""
        return sandbox.prepare(tag)

    def work(self, job: Job) -> str:
        """Work until done or out of time; the changes are in the box.

        Returns:
            How it ended, in the agent's own word, or `TIME_LIMIT`.

        Raises:
            InfraError: the machinery failed; this says nothing about the agent.
        """
        ...
