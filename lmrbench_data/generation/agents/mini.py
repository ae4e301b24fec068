"""Run mini-swe-agent outside the box, in a process of its own; each of its commands runs inside the box."""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ...base.child import Child, clean_environment
from ...base.errors import InputError
from ...base.extras import need
from .base import LOOK_S, OUTPUT, TIME_LIMIT, Agent, Job
from .endpoints import host_endpoint
from .relay import STEP_LIMIT

NAME = "mini-swe-agent"
#: Names a folder filled by `pip install --target`, so that the agent's libraries need not agree with this package's.
PATH_VARIABLE = "LMRBENCH_AGENTS_PATH"
TRAJECTORY = "trajectory.json"
#: The agent's process needs Docker, but none of the user's keys.
_DOCKER_VARIABLES = ("DOCKER_HOST", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH")


class MiniSweAgent(Agent):
    """The agent with the prompts and tools of its own package; the limits are ours."""

    name = NAME

    def __init__(self) -> None:
        """Check that it is installed.

        Raises:
            InputError: the extra `agents` is not installed.
        """
        own = os.environ.get(PATH_VARIABLE, "")
        if own and not (Path(own) / "minisweagent").is_dir():
            raise InputError(f"{PATH_VARIABLE}: {own} lacks {NAME}; run `pip install --target {own} {NAME} mcp`")
        if not own:
            need("agents", NAME)
        self._path = [own] if own else []

    def work(self, job: Job) -> str:
        """Run it in a process that can be killed at any time."""
        log = job.trajectory / OUTPUT
        # Among its records, so that the next run removes it with them after a kill.
        place = tempfile.TemporaryDirectory(prefix="home-", dir=job.trajectory.resolve())
        with host_endpoint(job.relay) as (url, key), place as home:
            environment = clean_environment(*_DOCKER_VARIABLES)
            path = [*self._path, *filter(None, [environment.get("PYTHONPATH")])]
            environment |= {
                **({"PYTHONPATH": os.pathsep.join(path)} if path else {}),
                "HOME": home,
                "MSWEA_GLOBAL_CONFIG_DIR": home,
                "MSWEA_SILENT_STARTUP": "1",
                "MSWEA_COST_TRACKING": "ignore_errors",
                "LITELLM_LOCAL_MODEL_COST_MAP": "True",
                "OPENAI_API_KEY": key,
            }
            asked = {
                "task": job.task,
                "container": job.box.container,
                "model": job.relay.model,
                "base_url": url,
                "max_steps": job.max_steps or 0,
                "trajectory": str((job.trajectory / TRAJECTORY).resolve()),
            }
            module = f"{__package__}.mini_process"
            command = [sys.executable, "-m", module, json.dumps(asked)]
            # It also ends by itself when its stdin does: a killed run leaves no agent.
            with (
                log.open("wb") as output,
                Child(command, environment=environment, stdout=output, stderr=subprocess.STDOUT) as child,
            ):
                while child.is_running() and job.rest() > 0 and not job.called_off.is_set():
                    time.sleep(LOOK_S)
                if child.is_running():
                    return TIME_LIMIT
        return _ending(job, child.process.returncode, log)


def _ending(job: Job, status: int, log: Path) -> str:
    """Return the agent's own word for how it ended, from its trajectory."""
    try:
        info = json.loads((job.trajectory / TRAJECTORY).read_text(encoding="utf-8"))["info"]
        said = str(info["exit_status"] or "unknown")
    except (OSError, ValueError, LookupError, TypeError):
        said = ""
    if not said or job.asked_nothing():
        raise job.failed_start(NAME, said or f"exit {status}", log.read_bytes())
    return STEP_LIMIT if said == "LimitsExceeded" else said
