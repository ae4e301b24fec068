"""Decide which requests of an agent are relayed: text chat completions whose parameters cost and reach nothing else.

A request is rebuilt from known parameters. Those that only label it are silently left out; any other one is refused by
name: it could buy another model, a dearer tier, a search of the web, or several answers.
"""

import json
import threading
from collections.abc import Callable
from typing import Any

#: Bytes of a request: a full context window of text.
MAX_REQUEST_BYTES = 4 * 2**20
#: Objects and lists in a request: parsed, each takes up to a hundred times its bytes.
_MAX_CONTAINERS = 100_000
_ROLES = ("system", "developer", "user", "assistant", "tool", "function")
#: Keys of a message that are kept beside role and content; all others are left out.
_OF_MESSAGE = ("name", "tool_call_id", "refusal", "reasoning_content")
_LABELS = ("metadata", "user", "store", "prompt_cache_key", "prompt_cache_retention", "safety_identifier")
#: One at a time is parsed.
_parsing = threading.Lock()


class NotAllowed(Exception):
    """A request that is not relayed; the message says why."""


def read_request(body: bytes, model: str) -> dict[str, Any]:
    """Return the request to send on.

    Args:
        body: as the agent sends it.
        model: the only one that is relayed.

    Raises:
        NotAllowed: it is not relayed.
    """
    if len(body) > MAX_REQUEST_BYTES:
        raise NotAllowed(f"a request may have at most {MAX_REQUEST_BYTES >> 20} MiB")
    if body.count(b"{") + body.count(b"[") > _MAX_CONTAINERS:
        raise NotAllowed("the request holds too many lists or objects")
    with _parsing:
        try:
            asked: Any = json.loads(body)
        except (ValueError, RecursionError):
            asked = None
        if not isinstance(asked, dict) or not isinstance(asked.get("messages"), list):
            raise NotAllowed("the body must be a JSON object with model and messages")
        if asked.get("model") != model:
            raise NotAllowed(f"the model of this run is {model!r}; no other is relayed")
        if asked.get("n") not in (None, 1):
            raise NotAllowed("only one answer per request is relayed; leave out n")
        sent: dict[str, Any] = {"model": model, "messages": [_message(item) for item in asked["messages"]]}
        for name, value in asked.items():
            if name in sent or name in ("n", "stream_options", *_LABELS) or value is None:
                continue
            if name not in _PARAMETERS:
                raise NotAllowed(f"{name[:60]!r} is not relayed; leave it out")
            if not _PARAMETERS[name](value):
                raise NotAllowed(f"{name} has a value that is not relayed")
            sent[name] = _tools(value) if name == "tools" else value
    if sent.get("stream"):
        sent["stream_options"] = {"include_usage": True}
    return sent


def _message(item: Any) -> dict[str, Any]:
    if not isinstance(item, dict) or item.get("role") not in _ROLES:
        raise NotAllowed("each message must be an object with a role")
    message: dict[str, Any] = {"role": item["role"]}
    if "content" in item:
        message["content"] = _content(item["content"])
    message |= {name: item[name] for name in _OF_MESSAGE if isinstance(item.get(name), str)}
    if calls := item.get("tool_calls"):
        if not isinstance(calls, list) or not all(_is_function(call) for call in calls):
            raise NotAllowed("only tool_calls of functions are relayed")
        message["tool_calls"] = [
            {name: call[name] for name in ("id", "type", "function") if name in call} for call in calls
        ]
    if isinstance(call := item.get("function_call"), dict):
        message["function_call"] = {name: str(call.get(name, "")) for name in ("name", "arguments")}
    return message


def _content(content: Any) -> Any:
    if content is None or isinstance(content, str):
        return content
    parts: list[Any] = content if isinstance(content, list) else [{}]
    if not all(isinstance(part, dict) and part.get("type") == "text" and _is_text(part.get("text")) for part in parts):
        raise NotAllowed("the content of a message must be text; images, sound and files are not relayed")
    return [{"type": "text", "text": part["text"]} for part in parts]


def _tools(tools: list[Any]) -> list[Any]:
    return [{"type": "function", "function": tool["function"]} for tool in tools]


def _is_function(value: Any) -> bool:
    """Return whether a tool or a call is a function; the server's own tools search, run code and cost money."""
    if not isinstance(value, dict) or value.get("type", "function") != "function":
        return False
    function = value.get("function")
    return isinstance(function, dict) and _is_text(function.get("name"))


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e9


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 < value < 10**7


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _is_stop(value: Any) -> bool:
    return _is_text(value) or (isinstance(value, list) and all(map(_is_text, value)))


def _is_choice(value: Any) -> bool:
    return value in ("none", "auto", "required") if _is_text(value) else _is_function(value)


def _is_format(value: Any) -> bool:
    return isinstance(value, dict) and value.get("type") in ("text", "json_object", "json_schema")


def _is_bias(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_is_number, value.values()))


#: Relayed parameter → whether it accepts a value.
_PARAMETERS: dict[str, Callable[[Any], bool]] = {
    "frequency_penalty": _is_number,
    "logit_bias": _is_bias,
    "logprobs": _is_flag,
    "max_completion_tokens": _is_count,
    "max_tokens": _is_count,
    "min_p": _is_number,
    "parallel_tool_calls": _is_flag,
    "presence_penalty": _is_number,
    "reasoning_effort": _is_text,
    "repetition_penalty": _is_number,
    "response_format": _is_format,
    "seed": lambda value: type(value) is int and abs(value) < 2**63,
    "stop": _is_stop,
    "stream": _is_flag,
    "temperature": _is_number,
    "tool_choice": _is_choice,
    "tools": lambda value: isinstance(value, list) and all(map(_is_function, value)),
    "top_k": _is_number,
    "top_logprobs": _is_count,
    "top_p": _is_number,
    "verbosity": _is_text,
}
