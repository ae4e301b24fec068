"""The requests of an agent that are relayed: text chat completions whose parameters cost and reach nothing else."""

import json
from typing import Any

#: Bytes of a request: a full context window of text.
MAX_REQUEST_BYTES = 4 * 2**20
#: Objects and lists in a request: parsed, each takes up to a hundred times its bytes.
_MAX_CONTAINERS = 100_000
_SAMPLING = (
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "seed",
    "stop",
    "frequency_penalty",
    "presence_penalty",
)
_MORE = (
    "repetition_penalty",
    "logit_bias",
    "logprobs",
    "top_logprobs",
    "reasoning_effort",
    "verbosity",
    "stream",
)
_FORM = (
    "response_format",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "max_completion_tokens",
    "max_tokens",
)
#: Any other parameter could buy another model, a dearer tier, a search of the web, or several answers.
_RELAYED = {"model", "messages", *_SAMPLING, *_MORE, *_FORM}
_CACHE_LABELS = ("prompt_cache_key", "prompt_cache_retention")
_LEFT_OUT = {
    "n",
    "metadata",
    "user",
    "store",
    "safety_identifier",
    "stream_options",
    *_CACHE_LABELS,
}
_ROLES = ("system", "developer", "user", "assistant", "tool", "function")
#: Parts of a message; images, sound and files are not relayed.
_PARTS = ("text", "refusal", "thinking", "redacted_thinking", "reasoning")


class NotAllowedError(Exception):
    """A request that is not relayed; the message says why."""


def read_request(body: bytes, model: str) -> dict[str, Any]:
    """Return the request to send on for a body of the agent, if it asks this model; else raise NotAllowedError."""
    if len(body) > MAX_REQUEST_BYTES or body.count(b"{") + body.count(b"[") > _MAX_CONTAINERS:
        raise NotAllowedError(
            f"a request may have at most {MAX_REQUEST_BYTES >> 20} MiB, lists and objects"
        )
    try:
        request: Any = json.loads(body)
        json.dumps(request, ensure_ascii=False, allow_nan=False).encode()
    except (
        ValueError,
        RecursionError,
    ):  # also for half a surrogate pair, NaN and Infinity, which cannot be sent
        request = None
    if not isinstance(request, dict) or not isinstance(request.get("messages"), list):
        raise NotAllowedError(
            "the body must be a JSON object with model and messages, valid Unicode and no NaN"
        )
    if request.get("model") != model or request.get("n") not in (None, 1):
        raise NotAllowedError(f"only one answer per request, of the model {model!r}, is relayed")
    sent = {
        name: value
        for name, value in request.items()
        if name not in _LEFT_OUT and value is not None
    }
    if unknown := sent.keys() - _RELAYED:
        raise NotAllowedError(f"{min(unknown)[:60]!r} is not relayed; leave it out")
    sent["messages"] = list(map(_message, request["messages"]))
    # The server's own tools search, run code and cost money.
    tools, choice = sent.get("tools", []), sent.get("tool_choice", "auto")
    is_choice = isinstance(choice, str) or _is_function(choice)
    if not (isinstance(tools, list) and all(map(_is_function, tools)) and is_choice):
        raise NotAllowedError("only tools that are functions are relayed")
    if any(type(sent.get(name, 1)) is not int for name in ("max_completion_tokens", "max_tokens")):
        raise NotAllowedError("the token limit must be a number")
    if sent.get("stream"):
        sent["stream_options"] = {"include_usage": True}
    return sent


def _message(value: Any) -> dict[str, Any]:
    """Check a message; one of the assistant keeps all fields, because servers expect signatures and reasoning back."""
    if not isinstance(value, dict) or value.get("role") not in _ROLES:
        raise NotAllowedError("each message must be an object with a role")
    item: dict[str, Any] = value
    moved = item.get("provider_specific_fields")
    if item["role"] == "assistant" and isinstance(moved, dict):
        item = {**moved, **item}  # LiteLLM moves there what the server sent beside the content
    content = item.get("content")
    parts = [content] if isinstance(content, dict) else content if isinstance(content, list) else []
    if not all(isinstance(part, dict) and part.get("type") in _PARTS for part in parts):
        raise NotAllowedError(
            "the content of a message must be text; images, sound and files are not relayed"
        )
    if item["role"] == "assistant":
        return item
    if parts:
        content = [{"type": "text", "text": str(part.get("text"))} for part in parts]
    names = {name: item[name] for name in ("name", "tool_call_id") if item.get(name) is not None}
    return {"role": item["role"], "content": content, **names}


def _is_function(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and value.get("type", "function") == "function"
        and "function" in value
    )
