"""The interface of agents: an agent works in a box until it is done or its time is up."""

import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from lmrbench_evaluate.sandbox.docker import DockerSandbox

from ...base.errors import InfraError
from ...base.text import one_line
from .box import Box
from .relay import Relay

TIME_LIMIT = "time_limit"
#: The file among the records of an agent that has what it printed.
OUTPUT = "output.log"
#: How often whoever waits looks whether the run was called off.
LOOK_S = 0.2


@dataclass(frozen=True)
class Job:
    """One instance that an agent works on."""

    task: str
    """TASK.md; the box has it too."""
    box: Box
    relay: Relay
    trajectory: Path
    """A folder on this side, for whatever the agent records."""
    max_steps: int | None
    deadline: float
    """In `time.monotonic()`."""
    called_off: threading.Event

    def rest(self) -> float:
        """Seconds that are left."""
        return self.deadline - time.monotonic()

    def asked_nothing(self) -> bool:
        """Return whether the agent has not asked the model anything yet."""
        return not (self.relay.steps or self.relay.limit or self.relay.failure)

    def check_start(self, name: str, status: int, output: bytes) -> None:
        """Check that a process that failed had asked the model something: if not, the mistake may be the user's.

        Args:
            name: what the process is to the user.
            output: what it printed; its last line says why it failed.

        Raises:
            InfraError: it had asked nothing.
        """
        if status and self.asked_nothing():
            raise self.failed_start(name, f"exit {status}", output)

    def failed_start(self, name: str, ending: str, output: bytes) -> InfraError:
        """Return the error for an agent that did not start."""
        last = one_line(output.decode("utf-8", "replace").strip().rpartition("\n")[2])
        return InfraError(f"{name} did not start ({ending}: {last[:300]}); see {self.trajectory / OUTPUT}")


class Agent(Protocol):
    """An agent; one object serves several threads."""

    name: str
    """As in the setting of its rows: `agent:<name>`."""

    def image(self, sandbox: DockerSandbox, tag: str) -> str:
        """The content address of the image for its boxes: that of the task, unless it has one of its own."""
        return sandbox.prepare(tag)

    def work(self, job: Job) -> str:
        """Work until done or out of time; what it changed is in the box.

        Returns:
            How it ended, in the agent's own word, or `TIME_LIMIT`.

        Raises:
            InfraError: the machinery failed; nothing can be said of the agent.
        """
        ...
