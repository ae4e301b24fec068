"""mini-swe-agent: it runs outside, in a process of its own, and each of its commands inside the box."""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ...base.errors import InputError
from ...base.extras import need
from .base import LOOK_S, OUTPUT, TIME_LIMIT, Agent, Job
from .doors import outer_door
from .relay import STEP_LIMIT

NAME = "mini-swe-agent"
#: A folder that `pip install --target` has filled with it: its libraries then need not agree with this package's.
PATH_VARIABLE = "LMRBENCH_AGENTS_PATH"
TRAJECTORY = "trajectory.json"
#: Environment variables that the agent's process needs; the user's keys are not among them.
_PASSED = ("PATH", "PYTHONPATH", "LANG", "DOCKER_HOST", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH", "TMPDIR")


class MiniSweAgent(Agent):
    """The agent as its package has it, with its own prompts; the limits are ours."""

    name = NAME

    def __init__(self) -> None:
        """Look whether it is there.

        Raises:
            InputError: the extra `agents` is not installed.
        """
        own = os.environ.get(PATH_VARIABLE, "")
        if own and not (Path(own) / "minisweagent").is_dir():
            raise InputError(f"{PATH_VARIABLE}: {own} has no {NAME}: `pip install --target {own} {NAME} mcp`")
        if not own:
            need("agents", NAME)
        self._path = [own] if own else []

    def work(self, job: Job) -> str:
        """Run it in a process that can be killed, whatever it waits for."""
        log = job.trajectory / OUTPUT
        # Among its records: after a kill the next run removes it with them.
        place = tempfile.TemporaryDirectory(prefix="home-", dir=job.trajectory.resolve())
        with outer_door(job.relay) as (url, key), place as home:
            environment = {name: os.environ[name] for name in _PASSED if name in os.environ}
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
            with log.open("wb") as output:
                child = subprocess.Popen(
                    [sys.executable, "-m", module, json.dumps(asked)],
                    # It ends itself when the other end of this pipe is gone: a killed run leaves no agent.
                    stdin=subprocess.PIPE,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    env=environment,
                    start_new_session=True,
                )
                try:
                    while child.poll() is None and job.rest() > 0 and not job.called_off.is_set():
                        time.sleep(LOOK_S)
                    if child.poll() is None:
                        return TIME_LIMIT
                finally:
                    child.kill()
                    child.communicate()
        return _ending(job, child.returncode, log)


def _ending(job: Job, status: int, log: Path) -> str:
    """The agent's own word for its end, from its trajectory."""
    try:
        info = json.loads((job.trajectory / TRAJECTORY).read_text(encoding="utf-8"))["info"]
        said = str(info["exit_status"] or "unknown")
    except (OSError, ValueError, LookupError, TypeError):
        said = ""
    if not said or job.asked_nothing():
        raise job.failed_start(NAME, said or f"exit {status}", log.read_bytes())
    return STEP_LIMIT if said == "LimitsExceeded" else said
