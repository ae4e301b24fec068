"""Anthropic's messages, which Claude Code asks for: what an agent may ask in them."""

import re
from collections.abc import Sequence
from typing import Any

from lmrbench_data.chat import answer_forms
from lmrbench_data.chat.refusals import get

from .dialect import PROBE, Dialect, NotAllowedError, Request, kind_of, objects, text_parts

_ROLES = ("user", "assistant", "system")
#: Blocks of content; those of the server's own tools are not relayed.
_BLOCKS = ("text", "tool_use", "tool_result", "thinking", "redacted_thinking")
_IN_RESULTS = ("text",)
#: Tools that run on the agent's side; all others run at the server, and cost money.
_TOOLS = (None, "custom")
_CHOICES = ("auto", "any", "tool", "none")
#: Additions that cost nothing more: no longer context, no faster tier, no files, no tools.
_BETAS = re.compile(
    r"(claude-code|interleaved-thinking|thinking-token-count|context-management|effort|"
    r"prompt-caching-scope|mid-conversation-system|structured-outputs|adaptive-thinking|"
    r"fine-grained-tool-streaming)-[\d-]{4,10}"
)
_MAX_BETAS_TEXT = 2000
#: The smallest budget of tokens for thinking.
_LEAST_THINKING = 1024


def _check(request: Request) -> Request:
    messages = request.get("messages")
    if not isinstance(messages, list):
        raise NotAllowedError("messages must be a list")
    request["messages"] = [_message(message) for message in messages]
    if "system" in request:
        request["system"] = _blocks(request["system"])
    if "tools" in request:
        request["tools"] = [_tool(tool) for tool in objects(request["tools"])]
    if "tool_choice" in request:
        kind_of(request["tool_choice"], _CHOICES, "a choice")
    _check_edits(get(request, "context_management", "edits"))
    return request


def _check_edits(edits: Any) -> None:
    """Refuse all changes of the history but those that leave something out."""
    for edit in objects(edits):
        if not str(get(edit, "type")).startswith("clear_"):
            raise NotAllowedError("the server may only clear parts of the history")


def _message(message: Any) -> Request:
    if get(message, "role") not in _ROLES:
        raise NotAllowedError("each message must be an object with a role")
    return {**message, "content": _blocks(message.get("content"))}


def _blocks(content: Any, kinds: Sequence[str] = _BLOCKS) -> Any:
    """Return content to send on, with that of tools' results."""
    blocks = text_parts(content, kinds, "text")
    if not isinstance(blocks, list):
        return blocks
    sent = []
    for block in blocks:
        block = _cached_briefly(block)
        if block["type"] == "tool_result":
            block["content"] = _blocks(block.get("content"), _IN_RESULTS)
        sent.append(block)
    return sent


def _tool(tool: Any) -> Request:
    kind_of(tool, _TOOLS, "a tool")
    return _cached_briefly(tool)


def _cached_briefly(value: Request) -> Request:
    """Return a copy that is cached for the usual minutes at most: longer costs more."""
    if value.get("cache_control") is None:
        return dict(value)
    return {**value, "cache_control": {"type": "ephemeral"}}


def _headers(betas: str) -> dict[str, str]:
    names = [name.strip() for name in betas[:_MAX_BETAS_TEXT].split(",")]
    allowed = ",".join(name for name in names if _BETAS.fullmatch(name))
    return {"anthropic-beta": allowed} if allowed else {}


def _fit(request: Request, limit: int) -> Request:
    """Return a request whose budget for thinking, if it has one, is below the token limit."""
    budget = get(request, "thinking", "budget_tokens")
    if type(budget) is not int or budget < limit:
        return request
    thinking = {**request["thinking"], "budget_tokens": limit - 1}
    if limit <= _LEAST_THINKING:
        thinking = {"type": "disabled"}
    return {**request, "thinking": thinking}


MESSAGES = Dialect(
    form=answer_forms.MESSAGES,
    relayed=frozenset(
        [
            "model",
            "messages",
            "system",
            "max_tokens",
            "tools",
            "tool_choice",
            "thinking",
            "stream",
            "temperature",
            "top_p",
            "top_k",
            "stop_sequences",
            "output_config",
            "context_management",
        ]
    ),
    left_out=frozenset(["metadata", "service_tier"]),
    limits=("max_tokens",),
    probe={"messages": [PROBE], "max_tokens": 16},
    check=_check,
    too_long="prompt is too long",
    headers=_headers,
    fit=_fit,
)
