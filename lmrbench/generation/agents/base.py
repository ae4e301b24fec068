"""The interface of agents: an agent works in a box until it is done or its time is up."""

import contextlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

from lmrbench_data.base.errors import InfraError
from lmrbench_data.base.text import one_line
from lmrbench_evaluate.sandbox.docker import DockerSandbox

from .box import Box
from .endpoints import BoxEndpoint
from .relay import Relay

TIME_LIMIT = "time_limit"


@dataclass(frozen=True)
class Job:
    """One instance that an agent works on."""

    box: Box
    relay: Relay
    task: str
    """The text of its TASK.md."""
    trajectory: Path
    """The folder on this machine for the agent's records and its output.log."""
    max_steps: int | None
    deadline: float
    """In `time.monotonic()`."""

    def execute(
        self,
        name: str,
        command: Sequence[str],
        *,
        output_bytes: int,
        environment: Mapping[str, str] | None = None,
        stdout: BinaryIO | None = None,
    ) -> int | None:
        """Run the process of an agent beside the relay.

        Its output, without what goes to `stdout`, becomes output.log.

        Returns:
            The exit status; None if its time is up.

        Raises:
            InfraError: it failed before its first request, which may be the user's mistake.
        """
        with contextlib.closing(BoxEndpoint(self.relay, self.box, self.deadline)):
            output, status = self.box.execute(
                command,
                time_s=self.deadline - time.monotonic(),
                output_bytes=output_bytes,
                environment=environment,
                stdout=stdout,
            )
        log = self.trajectory / "output.log"
        log.write_bytes(output)
        if status and not self.relay.was_asked:
            reason = f"exit {status}: {_last_line(output)}"
            raise InfraError(f"{name} did not start ({reason}); see {log}")
        return status


def _last_line(output: bytes) -> str:
    return one_line(output.decode("utf-8", "replace").strip().rpartition("\n")[2])[:300]


class Agent(Protocol):
    """An agent; one object serves several threads."""

    name: str
    """As in the setting of its rows: `agent:<name>`."""
    files_sha256: str = ""
    """Identity of the user's files that it needs; empty without any."""

    def image(self, sandbox: DockerSandbox, tag: str) -> str:
        """Return the image for its boxes: by default the task's."""
        return sandbox.prepare(tag)

    def work(self, job: Job) -> str:
        """Work until done or out of time; return how it ended, in a word.

        Raises:
            InfraError: the machinery failed; this says nothing about the agent.
        """
        ...
