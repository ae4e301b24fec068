"""Decide which requests of an agent are relayed: text chat completions whose parameters cost and reach nothing else.

A request is rebuilt from known parameters. Those that only label it are left out; any other one is refused by name: it
could buy another model, a dearer tier, a search of the web, or several answers.
"""

import json
from typing import Any

#: Bytes of a request: a full context window of text.
MAX_REQUEST_BYTES = 4 * 2**20
#: Objects and lists in a request: parsed, each takes up to a hundred times its bytes.
_MAX_CONTAINERS = 100_000
_SAMPLING = ("temperature", "top_p", "top_k", "min_p", "seed", "stop", "frequency_penalty", "presence_penalty")
_MORE = ("repetition_penalty", "logit_bias", "logprobs", "top_logprobs", "reasoning_effort", "verbosity", "stream")
_FORM = ("response_format", "tools", "tool_choice", "parallel_tool_calls", "max_completion_tokens", "max_tokens")
_PARAMETERS = {*_SAMPLING, *_MORE, *_FORM}
_CACHE_LABELS = {"prompt_cache_key", "prompt_cache_retention"}
_LEFT_OUT = {"n", "metadata", "user", "store", "safety_identifier", "stream_options", *_CACHE_LABELS}
_ROLES = ("system", "developer", "user", "assistant", "tool", "function")
_OF_MESSAGE = ("name", "tool_call_id", "refusal", "reasoning_content", "function_call")
#: `extra_content` holds the signature that Google's models expect back.
_OF_CALL = ("id", "type", "function", "extra_content")


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
    if len(body) > MAX_REQUEST_BYTES or body.count(b"{") + body.count(b"[") > _MAX_CONTAINERS:
        raise NotAllowed(f"a request may have at most {MAX_REQUEST_BYTES >> 20} MiB, lists and objects")
    try:
        request: Any = json.loads(body)
    except (ValueError, RecursionError):
        request = None
    if not isinstance(request, dict) or not isinstance(request.get("messages"), list):
        raise NotAllowed("the body must be a JSON object with model and messages")
    if request.get("model") != model:
        raise NotAllowed(f"the model of this run is {model!r}; no other is relayed")
    if request.get("n") not in (None, 1):
        raise NotAllowed("only one answer per request is relayed; leave out n")
    sent: dict[str, Any] = {"model": model, "messages": [_message(item) for item in request["messages"]]}
    for name, value in request.items():
        if name in sent or name in _LEFT_OUT or value is None:
            continue
        if name not in _PARAMETERS:
            raise NotAllowed(f"{name[:60]!r} is not relayed; leave it out")
        sent[name] = value
    # The server's own tools search, run code and cost money.
    tools, choice = sent.get("tools", []), sent.get("tool_choice", "auto")
    if not (
        isinstance(tools, list) and all(map(_is_function, tools)) and (choice == str(choice) or _is_function(choice))
    ):
        raise NotAllowed("only tools that are functions are relayed")
    if any(type(sent.get(name, 1)) is not int for name in ("max_completion_tokens", "max_tokens")):
        raise NotAllowed("the token limit must be a number")
    if sent.get("stream"):
        sent["stream_options"] = {"include_usage": True}
    return sent


def _message(item: Any) -> dict[str, Any]:
    if not isinstance(item, dict) or item.get("role") not in _ROLES:
        raise NotAllowed("each message must be an object with a role")
    message = {"role": item["role"], **{name: item[name] for name in _OF_MESSAGE if item.get(name) is not None}}
    if "content" in item:
        message["content"] = _content(item["content"])
    if calls := item.get("tool_calls"):
        if not isinstance(calls, list) or not all(map(_is_function, calls)):
            raise NotAllowed("only tool_calls of functions are relayed")
        message["tool_calls"] = [{name: call[name] for name in _OF_CALL if name in call} for call in calls]
    return message


def _content(content: Any) -> Any:
    if content is None or isinstance(content, str):
        return content
    parts: list[Any] = content if isinstance(content, list) else [None]
    if not all(isinstance(part, dict) and part.get("type") == "text" for part in parts):
        raise NotAllowed("the content of a message must be text; images, sound and files are not relayed")
    return [{"type": "text", "text": str(part.get("text"))} for part in parts]


def _is_function(value: Any) -> bool:
    return isinstance(value, dict) and value.get("type", "function") == "function" and "function" in value
