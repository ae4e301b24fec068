"""The requests of an agent that are relayed: their parameters cost and reach nothing else.

Each dialect, a way of asking a model, has one table of what may be asked in it.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from lmrbench_data.chat.refusals import LIMITS

#: Bytes of a request: a full context window of text.
MAX_REQUEST_BYTES = 4 * 2**20
#: Objects and lists in a request: parsed, each takes up to a hundred times its bytes.
_MAX_CONTAINERS = 100_000

Request = dict[str, Any]


class NotAllowedError(Exception):
    """A request that is not relayed; the message says why."""


@dataclass(frozen=True)
class Dialect:
    """One way of asking a model, and what an agent may ask in it."""

    path: str
    relayed: frozenset[str]
    """Parameters. Any other could buy another model, a dearer tier, a search of the web, or
    several answers."""
    left_out: frozenset[str]
    """Parameters that change no answer, and are not passed on."""
    probe: Mapping[str, Any]
    """The smallest request, without the model."""
    check: Callable[[Request], Request]
    """Returns what to send for a request of relayed parameters, or raises NotAllowedError."""

    def read(self, body: bytes, model: str) -> Request:
        """Return the request to send for a body of the agent; NotAllowedError if none may be."""
        request = _parse(body)
        if request.get("model") != model:
            raise NotAllowedError(_ONE_ANSWER.format(model))
        sent = {}
        for name, value in request.items():
            if value is not None and name not in self.left_out:
                sent[name] = value
        unknown = sent.keys() - self.relayed
        if unknown:
            raise NotAllowedError(f"{min(unknown)[:60]!r} is not relayed; leave it out")
        return self.check(sent)


_ONE_ANSWER = "only one answer per request, of the model {!r}, is relayed"
_FORM = "the body must be a JSON object with model and messages, valid Unicode and no NaN"


def _parse(body: bytes) -> Request:
    if len(body) > MAX_REQUEST_BYTES or body.count(b"{") + body.count(b"[") > _MAX_CONTAINERS:
        most = f"{MAX_REQUEST_BYTES >> 20} MiB"
        raise NotAllowedError(f"a request may have at most {most}, lists and objects")
    try:
        request = json.loads(body)
        # Half a surrogate pair, NaN and Infinity cannot be sent.
        json.dumps(request, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        raise NotAllowedError(_FORM) from None
    if not isinstance(request, dict):
        raise NotAllowedError(_FORM)
    return request


# --- chat completions ---------------------------------------------------------------------------

_ROLES = ("system", "developer", "user", "assistant", "tool", "function")
#: Parts of a message; images, sound and files are not relayed.
_PARTS = ("text", "refusal", "thinking", "redacted_thinking", "reasoning")


def _check_chat(request: Request) -> Request:
    messages = request.get("messages")
    if not isinstance(messages, list):
        raise NotAllowedError(_FORM)
    if request.pop("n", 1) != 1:
        raise NotAllowedError(_ONE_ANSWER.format(request["model"]))
    _check_tools(request.get("tools", []), request.get("tool_choice", "auto"))
    if any(type(request.get(name, 1)) is not int for name in LIMITS):
        raise NotAllowedError("the token limit must be a number")
    request["messages"] = [_message(message) for message in messages]
    if request.get("stream"):
        request["stream_options"] = {"include_usage": True}
    return request


def _check_tools(tools: Any, choice: Any) -> None:
    """Refuse the server's own tools, which search, run code and cost money."""
    is_choice = isinstance(choice, str) or _is_function(choice)
    if not (is_choice and isinstance(tools, list) and all(map(_is_function, tools))):
        raise NotAllowedError("only tools that are functions are relayed")


def _is_function(value: Any) -> bool:
    if not isinstance(value, dict) or "function" not in value:
        return False
    kind: object = value.get("type", "function")
    return kind == "function"


def _message(message: Any) -> Request:
    """Return the message to send on."""
    if not isinstance(message, dict) or message.get("role") not in _ROLES:
        raise NotAllowedError("each message must be an object with a role")
    if message["role"] == "assistant":
        return _assistant_message(message)
    content = message.get("content")
    parts = _check_parts(content)
    if parts:
        content = [{"type": "text", "text": str(part.get("text"))} for part in parts]
    names = [name for name in ("name", "tool_call_id") if message.get(name) is not None]
    return {"role": message["role"], "content": content, **{name: message[name] for name in names}}


def _assistant_message(message: Request) -> Request:
    """Return all fields, because servers expect signatures and reasoning back."""
    # LiteLLM moves there what the server sent beside the content.
    moved = message.get("provider_specific_fields")
    if isinstance(moved, dict):
        message = {**moved, **message}
    _check_parts(message.get("content"))
    return message


def _check_parts(content: Any) -> list[Any]:
    """Return the parts of a message's content; none if it is a string."""
    parts = content if isinstance(content, list) else []
    if isinstance(content, dict):
        parts = [content]
    for part in parts:
        if not isinstance(part, dict) or part.get("type") not in _PARTS:
            kinds = "images, sound and files are not relayed"
            raise NotAllowedError(f"the content of a message must be text; {kinds}")
    return parts


CHAT = Dialect(
    path="/chat/completions",
    relayed=frozenset(
        [
            "model",
            "messages",
            "n",
            "stream",
            "temperature",
            "top_p",
            "top_k",
            "min_p",
            "seed",
            "stop",
            "logit_bias",
            "logprobs",
            "top_logprobs",
            "frequency_penalty",
            "presence_penalty",
            "repetition_penalty",
            "reasoning_effort",
            "verbosity",
            "response_format",
            "tools",
            "tool_choice",
            "parallel_tool_calls",
            "max_completion_tokens",
            "max_tokens",
        ]
    ),
    left_out=frozenset(
        [
            "metadata",
            "user",
            "store",
            "safety_identifier",
            "stream_options",
            "prompt_cache_key",
            "prompt_cache_retention",
        ]
    ),
    probe={"messages": [{"role": "user", "content": "Say OK."}]},
    check=_check_chat,
)
DIALECTS = {dialect.path: dialect for dialect in (CHAT,)}
