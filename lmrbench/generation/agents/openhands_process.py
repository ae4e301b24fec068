"""The process in which OpenHands runs, in the container: `python -I openhands_process.py JSON`.

`installed.py` puts it into the box and starts it with the Python of the agent's image, which has
the SDK and nothing of this package. Standard output is for events, one JSON object per line; all
other output goes to standard error.
"""

import json
import os
import site
import sys
import traceback
from pathlib import Path
from typing import Any

#: Exit statuses; `installed.py` has the words for them.
FINISHED, STUCK, STEP_LIMIT, ERROR = 0, 3, 4, 5


def main() -> int:
    """Work on the task in TASK.md until the agent says it is done."""
    options = json.loads(sys.argv[1])
    events = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(2, 1)
    home = Path(sys.executable).parents[1]
    site.addsitedir(str(home / "packages"))
    os.environ |= {
        # Last, so that programs of the task's image come first.
        "PATH": f"{os.environ['PATH']}{os.pathsep}{home / 'tools'}",
        # The box's user has no shell of its own.
        "SHELL": "/bin/bash",
        "OPENHANDS_SUPPRESS_BANNER": "1",
        # It would ask the network for prices.
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    }
    from openhands.sdk import LLM, Conversation
    from openhands.tools.preset.default import get_default_agent
    from pydantic import SecretStr

    limited = False

    def note(event: Any) -> None:
        nonlocal limited
        limited = limited or getattr(event, "code", "") == "MaxIterationsReached"
        events.write(event.model_dump_json(exclude_none=True) + "\n")

    model = LLM(
        usage_id="agent",
        model=f"openai/{options['model']}",
        base_url=options["base_url"],
        api_key=SecretStr("none-needed"),
        # Only parameters that the relay passes on. An answer may take as long as the run itself.
        api_mode="chat",
        timeout=None,
        # The default, "high", is refused together with tools by newer models; --body can set it.
        reasoning_effort=None,
    )
    limit = {"max_iteration_per_run": options["max_steps"]} if options["max_steps"] else {}
    conversation = Conversation(
        agent=get_default_agent(model, cli_mode=True),
        workspace=os.getcwd(),
        callbacks=[note],
        visualizer=None,
        **limit,
    )
    try:
        conversation.send_message(Path("TASK.md").read_text(encoding="utf-8"))
        conversation.run()
    except Exception:
        traceback.print_exc()
        return ERROR
    if limited:
        return STEP_LIMIT
    ending = conversation.state.execution_status.value
    return {"finished": FINISHED, "stuck": STUCK}.get(ending, ERROR)


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    sys.stderr.flush()
    # Threads of its libraries, and commands that still run, end with the process.
    os._exit(status)
