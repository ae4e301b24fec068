"""Agents that others wrote: each lives inside the box, in its own image, beside the relay."""

import json
import logging
from dataclasses import dataclass
from pathlib import Path

from lmrbench_data.loader import File
from lmrbench_evaluate.sandbox.docker import DockerSandbox
from lmrbench_evaluate.sandbox.docker_client import connect

from .agent_image import find_agent_image
from .base import TIME_LIMIT, Agent, Job
from .box import AGENT
from .endpoints import URL
from .relay import STEP_LIMIT
from .session_trace import write_session

#: The agent's own records, one JSON object per line.
TRAJECTORY = "trajectory.jsonl"
_log = logging.getLogger(__name__)
_OUTPUT_BYTES = 64 * 2**20
#: The exit status of a program → how it ended.
_ENDINGS = {0: "finished", 1: "error", 3: "stuck", 4: STEP_LIMIT, 5: "error"}


@dataclass(frozen=True)
class Program:
    """The program that starts an agent in the box."""

    file: str
    """Beside this module."""
    python: str = "python"
    """The program that runs it: by default the Python of the task."""
    settings: tuple[str, ...] = ()
    """More files, which it finds beside it."""

    def files(self) -> dict[str, File]:
        """Return the files that the box needs."""
        folder = Path(__file__).parent
        names = (self.file, *self.settings)
        return {name: File((folder / name).read_bytes()) for name in names}

    def command(self, job: Job) -> list[str]:
        """Return the command that starts the agent."""
        options = {"model": job.relay.model, "base_url": URL, "max_steps": job.max_steps}
        return [self.python, "-I", f"{AGENT}/{self.file}", json.dumps(options)]


#: Agent → its program.
PROGRAMS = {
    "claude-code": Program("claude_process.py"),
    "codex": Program("codex_process.py", settings=("codex.toml",)),
    "mini-swe-agent": Program("mini_process.py", "/opt/mini-swe-agent/bin/python"),
    "openhands": Program("openhands_process.py", "/opt/openhands/bin/python"),
}


class InstalledAgent(Agent):
    """An agent with the prompts and tools of its own package; the limits are ours."""

    def __init__(self, name: str) -> None:
        self.name = name

    def image(self, sandbox: DockerSandbox, tag: str) -> str:
        """Return the task's image with the agent in it; InputError if it has not been built."""
        return find_agent_image(connect(), self.name, tag)

    def work(self, job: Job) -> str:
        """Run the agent to its end.

        Its records become trajectory.jsonl, and as a trace session.jsonl; its log is output.log.
        """
        program = PROGRAMS[self.name]
        job.box.put(AGENT, program.files(), owner=0)
        command = program.command(job)
        path = job.trajectory / TRAJECTORY
        try:
            with path.open("wb", buffering=0) as records:
                status = job.execute(self.name, command, output_bytes=_OUTPUT_BYTES, stdout=records)
        finally:
            self._trace(path, job)
        return TIME_LIMIT if status is None else _ENDINGS.get(status, f"exit {status}")

    def _trace(self, records: Path, job: Job) -> None:
        """Write the trace of a session; records that an agent forged cannot end the run."""
        try:
            write_session(records, self.name, job.relay.model, job.task)
        except Exception:
            _log.warning("%s: no trace can be made of the records", records, exc_info=True)
