"""Chat completions: what an agent may ask in them."""

from typing import Any

from lmrbench_data.chat import answer_forms
from lmrbench_data.chat.refusals import LIMITS

from .dialect import FORM, ONE_ANSWER, PROBE, Dialect, NotAllowedError, Request

_ROLES = ("system", "developer", "user", "assistant", "tool", "function")
#: Parts of a message; images, sound and files are not relayed.
_PARTS = ("text", "refusal", "thinking", "redacted_thinking", "reasoning")


def _check(request: Request) -> Request:
    messages = request.get("messages")
    if not isinstance(messages, list):
        raise NotAllowedError(FORM)
    if request.pop("n", 1) != 1:
        raise NotAllowedError(ONE_ANSWER.format(request["model"]))
    _check_tools(request.get("tools", []), request.get("tool_choice", "auto"))
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
    sent = {"role": message["role"], "content": content}
    for name in ("name", "tool_call_id"):
        if message.get(name) is not None:
            sent[name] = message[name]
    return sent


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
    form=answer_forms.CHAT,
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
            "prompt_cache_key",
            *LIMITS,
        ]
    ),
    left_out=frozenset(
        [
            "metadata",
            "user",
            "store",
            "safety_identifier",
            "stream_options",
            "prompt_cache_retention",
        ]
    ),
    limits=LIMITS,
    probe={"messages": [PROBE]},
    check=_check,
    waits=False,
)
