"""Count the actions of an agent's session from the records of mini-swe-agent or OpenHands.

The five kinds are those of the LMR-BENCH paper's Figure 5, mapped as in its Appendix F: edit; finish; message
(messages and thoughts); read; run (shell and IPython). Browsing and the like, which it excludes, is counted apart.
OpenHands' actions are mapped by their tools. mini-swe-agent has one tool, the shell: see `shell.py`.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from .shell import kind_of

KINDS = ("edit", "finish", "message", "read", "run")
#: Not among the paper's kinds.
EXCLUDED = "excluded"
#: Largest file that is read as the record of a session.
MAX_BYTES = 64 * 1024 * 1024
#: Words in the names of OpenHands' tools and actions, in order; for an editor the command decides.
_TOOL_WORDS = {
    "finish": "finish",
    "think": "message",
    **dict.fromkeys(("editor", "edit", "patch", "write"), "edit"),
    **dict.fromkeys(("grep", "glob", "read", "view"), "read"),
    **dict.fromkeys(("terminal", "bash", "shell", "python"), "run"),
}


def count_actions(folder: Path) -> Counter[str] | None:
    """The actions of the session that a folder holds, by kind and `EXCLUDED`; None without a known record."""
    counts: Counter[str] = Counter()
    is_session = False
    for path in sorted((*folder.rglob("*.json"), *folder.rglob("*.jsonl"))):
        for value in _values(path):
            if isinstance(value.get("messages"), list):
                counts.update(kind for message in value["messages"] for kind in _of_message(message))
                is_session = True
            elif "kind" in value and "source" in value:
                counts.update(_of_event(value))
                is_session = True
    return counts if is_session else None


def _values(path: Path) -> Iterator[Mapping[str, Any]]:
    """The JSON objects of a file; none if it is not JSON."""
    try:
        if path.stat().st_size > MAX_BYTES:
            return
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return
    for part in text.splitlines() if path.suffix == ".jsonl" else [text]:
        try:
            value = json.loads(part)
        except (ValueError, RecursionError):  # not JSON, or the line at which the agent was killed
            continue
        if isinstance(value, dict):
            yield value


def _of_message(message: Any) -> Iterator[str]:
    """The actions of one message of mini-swe-agent: each command; a message if there is none."""
    if not isinstance(message, dict) or message.get("role") != "assistant":
        return
    extra = message.get("extra")
    actions = extra.get("actions") if isinstance(extra, dict) else None
    commands = [action.get("command") for action in actions or () if isinstance(action, dict)]
    yield from (kind_of(command) for command in commands if isinstance(command, str))
    if not commands:
        yield "message"


def _of_event(event: Mapping[str, Any]) -> Iterator[str]:
    """The kind of an event of OpenHands; none if it is not an action of the agent."""
    if event["source"] != "agent":
        return
    action = event.get("action")
    if event["kind"] == "MessageEvent":
        yield "message"
    elif isinstance(action, dict):  # a call that no tool understood has none
        yield _of_tool(str(event.get("tool_name") or ""), action)


def _of_tool(tool: str, action: Mapping[str, Any]) -> str:
    for name in (tool.lower(), str(action.get("kind", "")).lower()):
        kind = next((kind for word, kind in _TOOL_WORDS.items() if word in name), None)
        if kind and "brows" not in name:
            return "read" if kind == "edit" and action.get("command") == "view" else kind
    return EXCLUDED
