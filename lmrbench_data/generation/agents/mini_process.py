"""Run mini-swe-agent in a process of its own: `python -m ...mini_process JSON`, started by `mini.py`."""

import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

from lmrbench_evaluate.sandbox.docker import WORK
from lmrbench_evaluate.sandbox.docker_client import connect

from .box import Box

#: Time limit of one command of the agent.
COMMAND_S = 120
_OUTPUT_BYTES = 2**20
_DONE = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"


class BoxEnvironment:
    """Implements the agent's protocol `Environment` for a box."""

    def __init__(self, box: Box, variables: dict[str, str]) -> None:
        self.config = {"cwd": WORK, "env": variables, "timeout": COMMAND_S}
        self._box, self._variables = box, variables

    def execute(self, action: dict[str, Any], cwd: str = "") -> dict[str, Any]:
        """Run one command of the agent; a command that prints the final word ends the agent."""
        from minisweagent.exceptions import Submitted

        script = f"cd -- '{cwd}' && {{ {action.get('command', '')}\n}}" if cwd else action.get("command", "")
        command = ["timeout", "--signal=KILL", str(COMMAND_S), "bash", "-lc", f"exec 2>&1\n{script}"]
        done = self._box.execute(command, time_s=COMMAND_S + 5, output_bytes=_OUTPUT_BYTES, environment=self._variables)
        late = done.status is None or done.status == 137
        text = done.output.decode("utf-8", "replace")
        output = {
            "output": text,
            "returncode": -1 if done.status is None else done.status,
            "exception_info": f"the command was killed after {COMMAND_S} s, or for its memory" if late else "",
        }
        first, _, rest = text.lstrip().partition("\n")
        if first.strip() == _DONE and output["returncode"] == 0:
            extra = {"exit_status": "Submitted", "submission": rest}
            raise Submitted({"role": "exit", "content": rest, "extra": extra})
        return output

    def get_template_vars(self, **more: Any) -> dict[str, Any]:
        """Return the facts about the container's system that prompts show."""
        names = dict(
            zip(("system", "release", "version", "machine"), ("Linux", "", "", os.uname().machine), strict=True)
        )
        return {**self.config, **names, **more}

    def serialize(self) -> dict[str, Any]:
        """Return the facts for the trajectory."""
        kind = f"{type(self).__module__}.{type(self).__name__}"
        return {"info": {"config": {"environment": self.config, "environment_type": kind}}}


def main() -> None:
    """Run the agent on the task that the first argument describes."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    asked = json.loads(sys.argv[1])
    import yaml
    from minisweagent import package_dir
    from minisweagent.agents.default import AgentConfig, DefaultAgent
    from minisweagent.models.litellm_model import LitellmModel

    config = yaml.safe_load((package_dir / "config" / "mini.yaml").read_text(encoding="utf-8"))
    chosen = config["model"]
    server = {"api_base": asked["base_url"], "api_key": os.environ["OPENAI_API_KEY"]}
    chosen["model_kwargs"] = {**chosen.get("model_kwargs", {}), **server}
    model = LitellmModel(model_name=f"openai/{asked['model']}", **chosen)
    # The key is valid for this run only, and does not belong in a trajectory.
    model.serialize = lambda: _without_server(LitellmModel.serialize(model))
    own = {key: value for key, value in config["agent"].items() if key in AgentConfig.model_fields}
    limits = {"step_limit": asked["max_steps"], "cost_limit": 0.0, "output_path": Path(asked["trajectory"])}
    box = Box(connect(), asked["container"])
    DefaultAgent(model, BoxEnvironment(box, config["environment"]["env"]), **{**own, **limits}).run(asked["task"])


def _without_server(facts: dict[str, Any]) -> dict[str, Any]:
    for name in ("api_base", "api_key"):
        facts["info"]["config"]["model"]["model_kwargs"].pop(name, None)
    return facts


def _end_with_parent() -> None:
    # Not through sys.stdin: its lock would be held when the interpreter ends.
    os.read(0, 1)
    os._exit(1)


if __name__ == "__main__":
    main()
