"""Sessions of agents as traces that the Hub's viewer shows: one format for all agents.

A trace is JSON lines: first `{"type": "session", ...}`, then messages with their tool calls and
results. Records of an agent that is not known here hold no message.
"""

import json
import shlex
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from lmrbench_data.base.files import read_regular
from lmrbench_data.base.jsonl import parse_row
from lmrbench_data.chat.refusals import get

#: The trace of a session, beside the agent's own records.
SESSION = "session.jsonl"
#: Largest file that is read as the record of a session.
MAX_BYTES = 64 * 1024 * 1024

Message = dict[str, Any]
Messages = Iterator[Message]
Record = Mapping[str, Any]


def write_session(records: Path, harness: str, model: str, task: str) -> None:
    """Write the trace of a session beside its records.

    Args:
        task: the first message, which some agents do not record.
    """
    name = records.parent.name
    messages = list(messages_of(read_records(records)))
    if not any(message["role"] == "user" for message in messages):
        messages.insert(0, _message("user", task))
    with records.with_name(SESSION).open("w", encoding="utf-8") as file:
        first = {"type": "session", "harness": harness, "id": name, "name": name}
        file.write(json.dumps(first) + "\n")
        for message in messages:
            if message["role"] == "assistant":
                message["model"] = model
            file.write(json.dumps({"type": "message", "message": message}) + "\n")


def read_session(folder: Path) -> Messages:
    """Yield the messages of the trace of a session."""
    return messages_of(read_records(folder / SESSION))


def read_records(path: Path) -> Iterator[Record]:
    """Yield the JSON objects of a file, without a line that the end of an agent cut short."""
    try:
        data = read_regular(path, MAX_BYTES)
    except OSError:
        return
    texts = data.split(b"\n") if path.suffix == ".jsonl" else [data]
    for text in texts:
        value = parse_row(text, {})
        if value is not None:
            yield value


def messages_of(records: Iterable[Record]) -> Messages:
    """Yield the messages of an agent's records."""
    last: Message = {}
    for message in _parts(records):
        if last and message.get("id") and message.get("id") == last.get("id"):
            _join(last, message)
            continue
        if last:
            yield _without_id(last)
        last = message
    if last:
        yield _without_id(last)


def _join(first: Message, second: Message) -> None:
    """Add a part of a message to the parts before it."""
    for name in ("content", "reasoningContent", "toolCalls"):
        if name in second:
            first[name] = first[name] + second[name] if name in first else second[name]


def _without_id(message: Message) -> Message:
    return {name: value for name, value in message.items() if name != "id"}


def _parts(records: Iterable[Record]) -> Messages:
    """Yield messages, or parts of them, which have the same id."""
    for record in records:
        kind = record.get("type")
        if isinstance(record.get("messages"), list):
            for message in record["messages"]:
                yield from _of_mini(message)
        elif "kind" in record and "source" in record:
            yield from _of_openhands(record)
        elif kind == "item.completed":
            yield from _of_codex(record.get("item"))
        elif kind in ("assistant", "user"):
            yield from _of_claude(record)
        elif kind == "message" and get(record, "message", "role"):
            yield _without_id(record["message"])


def _message(
    role: str, content: Any = "", calls: Iterable[Message] = (), reasoning: Any = ""
) -> Message:
    message: Message = {"role": role, "content": _text(content)}
    if reasoning:
        message["reasoningContent"] = _text(reasoning)
    calls = list(calls)
    if calls:
        message["toolCalls"] = calls
    return message


def _result(content: Any, call: Any) -> Message:
    return {**_message("tool", content), "toolCallId": str(call or "")}


def _call(identity: Any, name: Any, arguments: Any) -> Message:
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments)
    return {"id": str(identity or ""), "function": {"name": str(name), "arguments": arguments}}


def _text(content: Any) -> str:
    """Return content as text: a string, or the texts of a list of parts."""
    if isinstance(content, list):
        return "".join(str(get(part, "text") or "") for part in content)
    return "" if content is None else str(content)


def _of_mini(message: Any) -> Messages:
    """Yield a message of mini-swe-agent."""
    role = get(message, "role")
    if role == "tool":
        yield _result(message.get("content"), message.get("tool_call_id"))
    elif isinstance(role, str):
        reasoning = message.get("reasoning_content")
        yield _message(role, message.get("content"), _mini_calls(message), reasoning)


def _mini_calls(message: Any) -> list[Message]:
    """Return the actions of a message, which are commands for one tool."""
    actions = get(message, "extra", "actions")
    if not isinstance(actions, list):
        return []
    calls = []
    for action in actions:
        command = get(action, "command")
        if isinstance(command, str):
            calls.append(_call(action.get("tool_call_id"), "bash", {"command": command}))
    return calls


def _of_openhands(event: Record) -> Messages:
    """Yield an event of OpenHands, if it is a message, an action of the agent, or a result."""
    kind = event["kind"]
    call = event.get("tool_call_id") or event.get("id")
    action = event.get("action")
    if kind == "MessageEvent":
        role = "assistant" if event["source"] == "agent" else "user"
        yield _message(role, get(event, "llm_message", "content"))
    elif kind == "ObservationEvent":
        yield _result(get(event, "observation", "content"), call)
    elif event["source"] == "agent" and isinstance(action, dict):  # no tool understood others
        name = event.get("tool_name") or action.get("kind")
        reasoning = event.get("reasoning_content")
        yield _message("assistant", event.get("thought"), [_call(call, name, action)], reasoning)


def _of_codex(item: Any) -> Messages:
    """Yield an item of Codex's events: what it says, thinks, or does with a result."""
    kind = get(item, "type")
    if kind == "agent_message":
        yield _message("assistant", item.get("text"))
    elif kind == "reasoning":
        yield _message("assistant", reasoning=item.get("text"))
    elif kind == "command_execution":
        command = {"command": _inner_command(str(item.get("command")))}
        yield from _codex_action(item, "shell", command, item.get("aggregated_output"))
    elif kind == "file_change":
        changes = {"changes": item.get("changes")}
        yield from _codex_action(item, "apply_patch", changes, item.get("status"))


def _codex_action(item: Record, tool: str, arguments: Message, result: Any) -> Messages:
    """Yield the call of a tool and its result, which Codex records as one item."""
    identity = item.get("id")
    yield _message("assistant", calls=[_call(identity, tool, arguments)])
    yield _result(result, identity)


def _inner_command(command: str) -> str:
    """Return the command that Codex has a shell run, without the shell."""
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    is_shell = len(words) == 3 and words[1] in ("-c", "-lc")
    return words[2] if is_shell else command


def _of_claude(record: Record) -> Messages:
    """Yield a record of Claude Code: results of tools, or a part of a message."""
    message = record.get("message")
    if get(message, "model") == "<synthetic>":  # its own words about an error
        return
    content = get(message, "content")
    blocks = content if isinstance(content, list) else []
    results = [block for block in blocks if get(block, "type") == "tool_result"]
    for block in results:
        yield _result(block.get("content"), block.get("tool_use_id"))
    if not results:
        role = str(record["type"])
        part = _message(role, content, _claude_calls(blocks), _thoughts(blocks))
        yield {**part, "id": get(message, "id")}


def _claude_calls(blocks: Iterable[Any]) -> list[Message]:
    calls = [block for block in blocks if get(block, "type") == "tool_use"]
    return [_call(block.get("id"), block.get("name"), block.get("input")) for block in calls]


def _thoughts(blocks: Iterable[Any]) -> str:
    return "".join(str(get(block, "thinking") or "") for block in blocks)
