"""Count the actions of an agent's session from its records: mini-swe-agent's, OpenHands' (old and SDK).

The five kinds are those of the LMR-BENCH paper's Figure 5, mapped as in its Appendix F: edit; finish; message
(messages and thoughts); read; run (shell and IPython). Browsing and the like, which it excludes, is counted apart.
OpenHands' actions are mapped by their tools. mini-swe-agent has one tool, the shell: see `shell.py`.
"""

import json
import re
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
#: Actions of OpenHands before its SDK, and names in the original's actions.csv.
OLD_ACTIONS = {
    "edit": "edit",
    "write": "edit",
    "finish": "finish",
    "message": "message",
    "think": "message",
    "read": "read",
    "run": "run",
    "run_ipython": "run",
    "browse": EXCLUDED,
    "browse_interactive": EXCLUDED,
}
#: Words in the names of tools and actions of OpenHands' SDK, in order; for an editor the command decides.
_TOOL_WORDS = {
    "finish": "finish",
    "think": "message",
    "editor": "edit",
    "edit": "edit",
    "patch": "edit",
    "write": "edit",
    "grep": "read",
    "glob": "read",
    "read": "read",
    "view": "read",
    "terminal": "run",
    "bash": "run",
    "shell": "run",
    "python": "run",
}
_FENCE = re.compile(r"```(?:bash|sh|mswea_bash_command)\s*\n(.*?)```", re.DOTALL)


def count_actions(folder: Path) -> Counter[str] | None:
    """The actions of the session that a folder holds, by kind and `EXCLUDED`; None without a known record."""
    events: dict[str, Mapping[str, Any]] = {}
    counts: Counter[str] = Counter()
    is_session = False
    for path in sorted((*folder.rglob("*.json"), *folder.rglob("*.jsonl"))):
        for number, value in enumerate(_values(path)):
            if isinstance(value.get("messages"), list):
                counts.update(kind for message in value["messages"] for kind in _of_message(message))
                is_session = True
            elif "kind" in value or "action" in value or "observation" in value:
                # OpenHands keeps some events twice, in files of one and of many.
                events.setdefault(str(value.get("id", f"{path}:{number}")), value)
    counts.update(kind for event in events.values() if (kind := _of_event(event)))
    return counts if is_session or events else None


def _values(path: Path) -> Iterator[Mapping[str, Any]]:
    """The JSON objects of a file; empty if it is not JSON."""
    try:
        if path.stat().st_size > MAX_BYTES:
            return
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return
    for part in text.splitlines() if path.suffix == ".jsonl" else [text]:
        try:
            values = json.loads(part)
        except (ValueError, RecursionError):  # not JSON, or the line at which the agent was killed
            continue
        yield from (value for value in (values if isinstance(values, list) else [values]) if isinstance(value, dict))


def _of_message(message: Any) -> Iterator[str]:
    """The actions of one message of mini-swe-agent: each command; a message if there is none."""
    if not isinstance(message, dict) or message.get("role") != "assistant":
        return
    commands = list(_commands(message))
    yield from map(kind_of, commands)
    if not commands:
        yield "message"


def _commands(message: Mapping[str, Any]) -> Iterator[str]:
    """The commands of an answer: as the agent has parsed them, else from calls of tools, else from fenced code."""
    extra = message.get("extra")
    actions = extra.get("actions") if isinstance(extra, dict) else None
    if isinstance(actions, list):
        for action in actions:
            command = action.get("command") if isinstance(action, dict) else action
            if isinstance(command, str):
                yield command
        return
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        try:
            command = json.loads(call["function"]["arguments"])["command"]
        except (LookupError, TypeError, ValueError, RecursionError):
            continue
        if isinstance(command, str):
            yield command
    if not calls and isinstance(message.get("content"), str):
        yield from _FENCE.findall(message["content"])


def _of_event(event: Mapping[str, Any]) -> str | None:
    """The kind of an event of OpenHands; None if it is not an action of the agent."""
    if event.get("source") != "agent":
        return None
    action = event.get("action")
    if isinstance(action, str):
        return OLD_ACTIONS.get(action)
    if event.get("kind") == "MessageEvent":
        return "message"
    if not isinstance(action, dict):  # a call that no tool understood has none
        return None
    return _of_tool(str(event.get("tool_name") or ""), action)


def _of_tool(tool: str, action: Mapping[str, Any]) -> str:
    for name in (tool.lower(), str(action.get("kind", "")).lower()):
        kind = next((kind for word, kind in _TOOL_WORDS.items() if word in name), None)
        if kind and "brows" not in name:
            return "read" if kind == "edit" and action.get("command") == "view" else kind
    return EXCLUDED
