"""mini-swe-agent and OpenHands: each lives inside the box, in its own image, beside the relay."""

import json
from pathlib import Path

from lmrbench_data.loader import File
from lmrbench_evaluate.sandbox.docker import DockerSandbox
from lmrbench_evaluate.sandbox.docker_client import connect

from .agent_image import find_agent_image
from .base import TIME_LIMIT, Agent, Job
from .box import AGENT
from .endpoints import URL
from .relay import STEP_LIMIT

#: Agent → its program, which the Python of its image runs.
PROGRAMS = {"mini-swe-agent": "mini_process.py", "openhands": "openhands_process.py"}
#: The agent's own records, one JSON object per line.
TRAJECTORY = "trajectory.jsonl"
_OUTPUT_BYTES = 64 * 2**20
#: The exit status of a program → how it ended.
_ENDINGS = {0: "finished", 3: "stuck", 4: STEP_LIMIT, 5: "error"}


class InstalledAgent(Agent):
    """An agent with the prompts and tools of its own package; the limits are ours."""

    def __init__(self, name: str) -> None:
        self.name = name

    def image(self, sandbox: DockerSandbox, tag: str) -> str:
        """The task's image with the agent in it; InputError if it has not been built."""
        return find_agent_image(connect(), self.name, tag)

    def work(self, job: Job) -> str:
        """Run it to its end; its records become trajectory.jsonl, its log output.log."""
        program = Path(__file__).with_name(PROGRAMS[self.name])
        job.box.put(AGENT, {program.name: File(program.read_bytes())}, owner=0)
        options = {"model": job.relay.model, "base_url": URL, "max_steps": job.max_steps}
        python = f"/opt/{self.name}/bin/python"
        command = [python, "-I", f"{AGENT}/{program.name}", json.dumps(options)]
        with (job.trajectory / TRAJECTORY).open("wb", buffering=0) as records:
            status = job.execute(self.name, command, output_bytes=_OUTPUT_BYTES, stdout=records)
        return TIME_LIMIT if status is None else _ENDINGS.get(status, f"exit {status}")
