"""The process in which mini-swe-agent runs, in the container: `python -I mini_process.py JSON`.

`installed.py` puts it into the box and starts it with the Python of the agent's image, which has
the agent and nothing of this package. Standard output is for the messages, as JSON lines; all
other output goes to standard error.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

#: Exit statuses; `installed.py` has the words for them.
FINISHED, STEP_LIMIT, ERROR = 0, 4, 5
#: Seconds for one command of the agent.
COMMAND_S = 120
ENVIRONMENT = {
    "MSWEA_GLOBAL_CONFIG_DIR": "/tmp/mini-swe-agent",
    "MSWEA_SILENT_STARTUP": "1",
    "MSWEA_COST_TRACKING": "ignore_errors",
    # It would ask the network for prices.
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
}


def main() -> int:
    """Work on the task in TASK.md until the agent says it is done."""
    options = json.loads(sys.argv[1])
    records = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(2, 1)
    os.environ |= ENVIRONMENT
    agent = make_agent(options)
    add_messages = agent.add_messages

    def record(*messages: dict[str, Any]) -> Any:
        records.write(json.dumps({"messages": messages}, default=str) + "\n")
        return add_messages(*messages)

    agent.add_messages = record
    ending = agent.run(Path("TASK.md").read_text(encoding="utf-8")).get("exit_status")
    return {"Submitted": FINISHED, "LimitsExceeded": STEP_LIMIT}.get(ending, ERROR)


def make_agent(options: dict[str, Any]) -> Any:
    """Return the agent with the prompts and tools of its own package."""
    import litellm
    import yaml
    from minisweagent import package_dir
    from minisweagent.agents.default import AgentConfig, DefaultAgent
    from minisweagent.environments.local import LocalEnvironment
    from minisweagent.models.litellm_model import LitellmModel

    # A request that the server refuses once is refused again.
    refused = litellm.exceptions.BadRequestError
    LitellmModel.abort_exceptions = [*LitellmModel.abort_exceptions, refused]
    config = yaml.safe_load((package_dir / "config" / "mini.yaml").read_text(encoding="utf-8"))
    chosen = config["model"]
    server = {"api_base": options["base_url"], "api_key": "none-needed"}
    chosen["model_kwargs"] = {**chosen.get("model_kwargs", {}), **server}
    model = LitellmModel(model_name=f"openai/{options['model']}", **chosen)
    environment = LocalEnvironment(cwd=os.getcwd(), timeout=COMMAND_S, **config["environment"])
    settings = {
        name: value for name, value in config["agent"].items() if name in AgentConfig.model_fields
    }
    limits = {"step_limit": options["max_steps"] or 0, "cost_limit": 0.0, "output_path": None}
    return DefaultAgent(model, environment, **{**settings, **limits})


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    sys.stderr.flush()
    # Threads of its libraries, and commands that still run, end with the process.
    os._exit(status)
