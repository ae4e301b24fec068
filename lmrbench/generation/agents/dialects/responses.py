"""OpenAI's responses, which Codex asks for: what an agent may ask in them."""

from typing import Any

from lmrbench_data.chat import answer_forms

from .dialect import PROBE, Dialect, NotAllowedError, Request, kind_of, objects, text_parts

#: Tools that run on the agent's side; all others run at the server, and cost money.
_TOOLS = ("function", "custom")
#: Items of the input. References and calls of the server's tools would reach what it stores.
_ITEMS = (
    None,
    "message",
    "reasoning",
    "function_call",
    "function_call_output",
    "custom_tool_call",
    "custom_tool_call_output",
    "additional_tools",
)
_PARTS = (
    "input_text",
    "output_text",
    "text",
    "refusal",
    "summary_text",
    "reasoning_text",
    "encrypted_content",
)


def _check(request: Request) -> Request:
    _check_tools(request.get("tools"))
    _check_choice(request.get("tool_choice"))
    items = request.get("input")
    if isinstance(items, list):
        request["input"] = [_item(item) for item in items]
    elif not isinstance(items, str):
        raise NotAllowedError("the input must be a text or a list of items")
    # Nothing is kept, so no request can ask for what another has left.
    return {**request, "store": False}


def _check_tools(tools: Any) -> None:
    """Refuse the server's own tools, also those inside a namespace."""
    for tool in objects(tools):
        if kind_of(tool, (*_TOOLS, "namespace"), "a tool") == "namespace":
            _check_tools(tool.get("tools"))


def _check_choice(choice: Any) -> None:
    if choice is None or isinstance(choice, str):
        return
    if kind_of(choice, (*_TOOLS, "allowed_tools"), "a choice") == "allowed_tools":
        _check_tools(choice.get("tools"))


def _item(item: Any) -> Request:
    """Return an item of the input to send on."""
    if kind_of(item, _ITEMS, "input") is None and "role" not in item:
        raise NotAllowedError("a reference to what the server stores is not relayed")
    # Newer models get their tools here.
    _check_tools(item.get("tools"))
    sent = dict(item)
    for name in ("content", "output"):
        if name in sent:
            sent[name] = text_parts(sent[name], _PARTS, "input_text")
    return sent


RESPONSES = Dialect(
    form=answer_forms.RESPONSES,
    relayed=frozenset(
        [
            "model",
            "input",
            "instructions",
            "tools",
            "tool_choice",
            "parallel_tool_calls",
            "reasoning",
            "include",
            "text",
            "max_output_tokens",
            "temperature",
            "top_p",
            "top_logprobs",
            "stream",
            "store",
            "truncation",
            "prompt_cache_key",
        ]
    ),
    left_out=frozenset(
        [
            "metadata",
            "client_metadata",
            "user",
            "safety_identifier",
            "service_tier",
            "stream_options",
            "prompt_cache_retention",
        ]
    ),
    limits=("max_output_tokens",),
    probe={"input": [PROBE], "store": False},
    check=_check,
)
