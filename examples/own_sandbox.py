"""An example of your own sandbox: one container per run, through the command of an engine such as `docker` or `podman`.

PYTHONPATH=examples lmrbench evaluate predictions.jsonl --sandbox own_sandbox:CommandSandbox
"""

import os
import subprocess
import time
import uuid
from collections.abc import Sequence

from lmrbench_data.base.errors import InfraError
from lmrbench_evaluate.runner import one_answer
from lmrbench_evaluate.sandbox.base import ENVIRONMENT, PYTHON_OPTIONS, START_S, Ended, Limits, Outcome, Sandbox
from lmrbench_evaluate.sandbox.meter import make_outcome, wall_limit


class CommandSandbox(Sandbox):
    """Containers of the engine in CONTAINER_COMMAND (default: docker)."""

    name = "command"
    isolation = "container"
    official = False  # only results of `docker` count for the leaderboard

    def __init__(self) -> None:
        self._engine = os.environ.get("CONTAINER_COMMAND", "docker")

    def prepare(self, tag: str) -> str:
        """Check that the image exists."""
        command = [self._engine, "image", "inspect", "--format", "{{.Id}}", tag]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise InfraError(f"image {tag} is missing; build it with `lmrbench images build`")
        return done.stdout.strip()

    def run(self, image: str, workspace: bytes, limits: Limits, modules: Sequence[str] = ()) -> Outcome:
        """Send the workspace in, read the runner's stream, and always remove the container."""
        name = f"lmrbench-{uuid.uuid4().hex}"
        options = {
            "--name": name,
            "--network": "none",
            "--user": "65534:65534",
            "--cap-drop": "ALL",
            "--tmpfs": f"/work:size={limits.disk_mb}m,mode=1777",
            "--memory": f"{limits.memory_mb}m",
            "--pids-limit": str(limits.processes),
            "--cpus": "1",
        }
        command = [self._engine, "run", "--rm", "--interactive", "--read-only"]
        command += [word for option in options.items() for word in option]
        command += [word for name, value in ENVIRONMENT.items() for word in ("--env", f"{name}={value}")]
        arguments, stdin = one_answer(workspace, modules, "/work")
        command += [image, "python", *PYTHON_OPTIONS, *arguments]
        started, ended = time.monotonic(), Ended.EXITED
        # The runner itself limits each case's CPU time. The wall-clock limit leaves room for a busy machine.
        most = START_S + wall_limit(limits.time_s)
        try:
            done = subprocess.run(command, input=stdin, capture_output=True, timeout=most)
            stdout, stderr = done.stdout, done.stderr
        except subprocess.TimeoutExpired as error:
            ended, stdout, stderr = Ended.TIME_LIMIT, error.stdout or b"", error.stderr or b""
            subprocess.run([self._engine, "rm", "--force", name], capture_output=True)
        except OSError as error:
            raise InfraError(f"{self._engine} cannot be run: {error}") from error
        log = stderr[: limits.log_kb * 1024].decode("utf-8", "replace")
        took = time.monotonic() - started
        output = stdout.partition(b"begin ")[2].partition(b"\n")[2]
        return make_outcome(bytearray(output), log, ended, took, cpu_s=None, problem=log.strip()[-300:])

    def close(self) -> None:
        """Nothing to do: each run removes its own container."""
