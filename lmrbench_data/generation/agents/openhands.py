"""OpenHands: its SDK lives inside the box, in an image of its own, and reaches the model's relay."""

import json
from pathlib import Path

from lmrbench_evaluate.sandbox.docker import DockerSandbox
from lmrbench_evaluate.sandbox.docker_client import connect

from ...loader import File
from .agent_image import find_agent_image
from .base import OUTPUT, TIME_LIMIT, Agent, Job
from .box import AGENT
from .endpoints import box_endpoint
from .relay import STEP_LIMIT

NAME = "openhands"
#: The agent's own events, one JSON object per line.
TRAJECTORY = "trajectory.jsonl"
#: Python 3.13 with the SDK; `python` in the image is the task's.
_PYTHON = "/opt/openhands/bin/python"
_PROGRAM = "openhands_process.py"
_OUTPUT_BYTES = 64 * 2**20
#: The exit status of its process → how it ended.
_ENDINGS = {0: "finished", 3: "stuck", 4: STEP_LIMIT, 5: "error"}
_ENVIRONMENT = {
    # The box's user has no shell of its own.
    "SHELL": "/bin/bash",
    "OPENHANDS_SUPPRESS_BANNER": "1",
    # It would ask the network for prices.
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
}


class OpenHandsAgent(Agent):
    """The SDK's default agent without a browser, with its own prompts and tools; the limits are ours."""

    name = NAME

    def image(self, sandbox: DockerSandbox, tag: str) -> str:
        """The task's image with OpenHands in it.

        Raises:
            InputError: it has not been built.
        """
        return find_agent_image(connect(), NAME, tag)

    def work(self, job: Job) -> str:
        """Run it to its end; its events are written to trajectory.jsonl as they come, its log to output.log."""
        job.box.put(AGENT, {_PROGRAM: File(Path(__file__).with_name(_PROGRAM).read_bytes())}, owner=0)
        with (
            box_endpoint(job.relay, job.box, job.deadline) as url,
            (job.trajectory / TRAJECTORY).open("wb", buffering=0) as events,
        ):
            asked = {"model": job.relay.model, "base_url": url, "max_steps": job.max_steps}
            done = job.box.execute(
                [_PYTHON, "-I", f"{AGENT}/{_PROGRAM}", json.dumps(asked)],
                time_s=job.rest(),
                output_bytes=_OUTPUT_BYTES,
                environment=_ENVIRONMENT,
                stdout=events,
            )
        (job.trajectory / OUTPUT).write_bytes(done.output)
        if done.status is None:
            return TIME_LIMIT
        job.check_start(NAME, done.status, done.output)
        return _ENDINGS.get(done.status, f"exit {done.status}")
