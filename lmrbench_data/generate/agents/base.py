"""What an agent is to the rest: something that works in a box until it is done or its time is up."""

import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ...evaluate.sandbox.docker import DockerSandbox
from .box import Box
from .relay import Relay

TIME_LIMIT = "time_limit"
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
        """Whether the agent did not come as far as a first question to the model."""
        return not (self.relay.steps or self.relay.limit or self.relay.failure)


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
