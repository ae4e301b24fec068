"""Starts Claude Code in the container: `python -I claude_process.py JSON`.

`installed.py` puts it into the box. Standard output gets the events of Claude Code, one JSON object
per line; its exit status is that of this program.
"""

import json
import os
import sys

PROGRAM = "/opt/claude-code/bin/claude"
#: Milliseconds that no answer needs: the relay sends each as a whole, after the server's last word.
NEVER = str(24 * 3600 * 1000)
ENVIRONMENT = {
    "ANTHROPIC_API_KEY": "none-needed",
    "CLAUDE_CONFIG_DIR": "/tmp/claude-code",
    # Else a silent request is sent again after 300 seconds, and is paid for twice.
    "API_FORCE_IDLE_TIMEOUT": "0",
    "API_TIMEOUT_MS": NEVER,
    "CLAUDE_STREAM_IDLE_TIMEOUT_MS": NEVER,
    "CLAUDE_CODE_DISABLE_NONSTREAMING_FALLBACK": "1",
    # A first line of the prompt that changes with each session defeats caches.
    "CLAUDE_CODE_ATTRIBUTION_HEADER": "0",
    # What needs the network, or outlives the session.
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_DISABLE_TERMINAL_TITLE": "1",
    "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
    "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
}
#: Variables that name a model for some kinds of tasks; the relay knows only one model.
MODELS = (
    "ANTHROPIC_DEFAULT_HAIKU_MODEL",
    "ANTHROPIC_DEFAULT_SONNET_MODEL",
    "ANTHROPIC_DEFAULT_OPUS_MODEL",
    "CLAUDE_CODE_SUBAGENT_MODEL",
)
OPTIONS = [
    "--print",
    "--tools=Bash,Edit,Read,Write",
    "--strict-mcp-config",
    "--setting-sources=",
    "--no-session-persistence",
    "--disable-slash-commands",
    "--output-format=stream-json",
    "--verbose",
    "--dangerously-skip-permissions",
]


def main() -> None:
    """Replace this process with Claude Code, which reads the task from standard input."""
    options = json.loads(sys.argv[1])
    model = options["model"]
    server = options["base_url"].removesuffix("/v1")
    os.environ |= {**ENVIRONMENT, **dict.fromkeys(MODELS, model), "ANTHROPIC_BASE_URL": server}
    os.dup2(os.open("TASK.md", os.O_RDONLY), 0)
    os.execv(PROGRAM, [PROGRAM, "--model", model, *OPTIONS])


if __name__ == "__main__":
    main()
