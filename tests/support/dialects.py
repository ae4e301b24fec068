"""A scripted model behind all dialects: requests as agents send them, answers as servers do, whole or as streams."""

import itertools
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from support.openai_server import Reply, completion

#: The tokens that each answer reports: of 1000 sent, 600 were cached and, in messages, 100 put into the cache.
SENT, CACHED, WRITTEN, ANSWERED = 1000, 600, 100, 50
_numbers = itertools.count(1)
EVENT_STREAM = {"Content-Type": "text/event-stream"}
_MESSAGE = {"type": "message", "role": "assistant", "model": "served", "stop_sequence": None}


def stream(events: Iterable[Any]) -> Reply:
    """Return events as servers of responses and messages send them."""
    lines = [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events]
    return Reply(body="".join(lines).encode(), headers=EVENT_STREAM)


# --- OpenAI's responses -----------------------------------------------------------------------------------------------

RESPONSE_USAGE = {
    "input_tokens": SENT,
    "input_tokens_details": {"cached_tokens": CACHED},
    "output_tokens": ANSWERED,
    "total_tokens": SENT + ANSWERED,
}


def response(*output: dict[str, Any], usage: Any = RESPONSE_USAGE) -> dict[str, Any]:
    """Return the body of a response."""
    facts = {"id": "r_1", "object": "response", "created_at": 0, "model": "served", "status": "completed"}
    settings = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "error": None}
    return {**facts, **settings, "output": list(output), "usage": usage}


def said(text: str) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [part]}


def response_events(body: dict[str, Any]) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = [{"type": "response.created", "response": {**body, "output": [], "usage": None}}]
    for number, item in enumerate(body["output"]):
        events.append({"type": "response.output_item.done", "output_index": number, "item": item})
    return [*events, {"type": "response.completed", "response": body}]


# --- Anthropic's messages ---------------------------------------------------------------------------------------------

MESSAGE_USAGE = {
    "input_tokens": SENT - CACHED - WRITTEN,
    "cache_read_input_tokens": CACHED,
    "cache_creation_input_tokens": WRITTEN,
    "output_tokens": ANSWERED,
}


def message(*content: dict[str, Any], reason: str = "end_turn", usage: Any = MESSAGE_USAGE) -> dict[str, Any]:
    """Return the body of a message."""
    identity = f"msg_{next(_numbers)}"
    return {**_MESSAGE, "id": identity, "content": list(content), "stop_reason": reason, "usage": usage}


def message_events(body: dict[str, Any]) -> list[dict[str, Any]]:
    usage = body["usage"] and {**body["usage"], "output_tokens": 1}
    start = {**body, "content": [], "stop_reason": None, "usage": usage}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": start}]
    for number, block in enumerate(body["content"]):
        is_text = block["type"] == "text"
        empty = {**block, "text": ""} if is_text else {**block, "input": {}}
        delta = {"type": "text_delta", "text": block.get("text")}
        if not is_text:
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        events.append({"type": "content_block_start", "index": number, "content_block": empty})
        events.append({"type": "content_block_delta", "index": number, "delta": delta})
        events.append({"type": "content_block_stop", "index": number})
    end = {"stop_reason": body["stop_reason"], "stop_sequence": None}
    answered = body["usage"] and {"output_tokens": body["usage"]["output_tokens"]}
    return [*events, {"type": "message_delta", "delta": end, "usage": answered}, {"type": "message_stop"}]


# --- what tests of the relay need of each -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Asked:
    """A dialect as an agent and a server speak it."""

    path: str
    limit: str
    question: dict[str, Any]
    answer: Callable[..., dict[str, Any]]
    """Returns a whole answer; `usage` replaces its own."""
    events: Callable[[dict[str, Any]], list[dict[str, Any]]]


RESPONSES = Asked("/v1/responses", "max_output_tokens", {"input": "x"}, response, response_events)
MESSAGES = Asked(
    "/v1/messages", "max_tokens", {"messages": [{"role": "user", "content": "x"}]}, message, message_events
)
CHAT = Asked(
    "/v1/chat/completions",
    "max_completion_tokens",
    MESSAGES.question,
    lambda usage=(SENT, ANSWERED): completion("x", usage=usage),
    lambda body: [body],
)
#: Those that agents of others speak, besides chat completions.
NEW = {"responses": RESPONSES, "messages": MESSAGES}


def turns(dialect: str, calls: Sequence[tuple[str, dict[str, Any]]], last: str) -> Callable[[Any], Reply]:
    """Return a model that calls these tools one after the other, and then says its last word."""

    def say(request: Any) -> Reply:
        number = _results(request.body)
        if dialect == "responses":
            body = response(_call_item(number, calls) if number < len(calls) else said(last))
        elif number >= len(calls):
            body = message({"type": "text", "text": last})
        else:
            name, arguments = calls[number]
            block = {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": arguments}
            body = message(block, reason="tool_use")
        return stream(NEW[dialect].events(body)) if request.body.get("stream") else Reply(body=body)

    return say


def _call_item(number: int, calls: Sequence[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    name, arguments = calls[number]
    call = {"call_id": f"call_{number}", "name": name, "arguments": json.dumps(arguments)}
    return {"id": f"fc_{number}", "type": "function_call", "status": "completed", **call}


def _results(body: Any) -> int:
    """Count the results of tools in a request."""
    text = json.dumps(body)
    return text.count('"type": "function_call_output"') + text.count('"type": "tool_result"')


def without_usage(reply: Reply) -> Reply:
    """Return a stream whose server reports no usage."""
    assert isinstance(reply.body, bytes)
    return replace(reply, body=reply.body.replace(b'"usage"', b'"other"'))
