"""How answers look: chat completions, OpenAI's responses, and Anthropic's messages.

Each has one table: its path, what counts as an answer, and where errors and usage stand. Nothing
is translated from one into another.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .budget import Tokens, read_amount, read_tokens
from .refusals import get

#: The values of an answer: the events of a stream, or its one body.
Events = Sequence[Any]


@dataclass(frozen=True)
class AnswerForm:
    """A form of answers: its path, and where the parts of an answer stand."""

    path: str
    """Below the address of the server."""
    kind: str
    """Its name in messages."""
    is_answer: Callable[[Any], bool]
    """Whether the body of a success is an answer, perhaps to a request that failed."""
    reason: Callable[[Any], Any]
    """Reads from such a body why the answer ended."""
    error: Callable[[Any], Any]
    """Reads the error that an event of a stream states."""
    tokens: Callable[[Events], Tokens | None]
    """Reads the usage; None if it is missing, also because a stream was cut."""
    last_events: tuple[str, ...] = ()
    """Types of the event that ends a whole stream; empty if streams have no such event."""
    headers: Mapping[str, str] | None = None
    """Headers of each request."""
    key_header: str = ""
    """The header for the key, besides `Authorization`; empty if that one is enough."""


# --- chat completions ---------------------------------------------------------------------------


def _is_completion(body: Any) -> bool:
    """Return whether a body has a message, or a reason for having none."""
    choice = get(body, "choices", 0)
    if not isinstance(choice, dict) or "delta" in choice:  # an event of a stream
        return False
    if choice.get("error"):
        return False
    return choice.get("message") is not None or bool(choice.get("finish_reason"))


def _chat_tokens(events: Events) -> Tokens | None:
    for event in reversed(events):
        tokens = read_tokens(get(event, "usage"))
        if tokens:
            return tokens
    return None


CHAT = AnswerForm(
    path="/chat/completions",
    kind="chat completion",
    is_answer=_is_completion,
    reason=lambda body: get(body, "choices", 0, "finish_reason"),
    error=lambda event: get(event, "error"),
    tokens=_chat_tokens,
)

# --- OpenAI's responses -------------------------------------------------------------------------


def _response_tokens(events: Events) -> Tokens | None:
    for event in reversed(events):
        usage = get(event, "response", "usage") or get(event, "usage")
        question = read_amount(usage, "input_tokens")
        answer = read_amount(usage, "output_tokens")
        if question is not None and answer is not None:
            cached = read_amount(usage, "input_tokens_details", "cached_tokens") or 0
            written = read_amount(usage, "input_tokens_details", "cache_write_tokens") or 0
            cached = min(cached, question)
            return Tokens(question, answer, cached, min(written, question - cached))
    return None


RESPONSES = AnswerForm(
    path="/responses",
    kind="response",
    is_answer=lambda body: isinstance(get(body, "output"), list),
    reason=lambda body: get(body, "status"),
    error=lambda event: get(event, "error") or get(event, "response", "error"),
    tokens=_response_tokens,
    last_events=("response.completed", "response.incomplete"),
)

# --- Anthropic's messages -----------------------------------------------------------------------


def _message_tokens(events: Events) -> Tokens | None:
    """Read the usage of a message, or of its stream: at its start, and as totals near its end."""
    if not any(get(event, "type") in ("message", "message_delta") for event in events):
        return None  # the number at the start of a stream is not that of the whole answer
    usage = _joined_usage(events)
    fresh = read_amount(usage, "input_tokens")
    answer = read_amount(usage, "output_tokens")
    if fresh is None or answer is None:
        return None
    cached = read_amount(usage, "cache_read_input_tokens") or 0
    written = read_amount(usage, "cache_creation_input_tokens") or 0
    return Tokens(fresh + cached + written, answer, cached, written)


def _joined_usage(events: Events) -> dict[str, Any]:
    """Return the last statement of each number of tokens."""
    usage: dict[str, Any] = {}
    for event in events:
        for stated in (get(event, "message", "usage"), get(event, "usage")):
            if isinstance(stated, dict):
                usage |= {name: value for name, value in stated.items() if value is not None}
    return usage


MESSAGES = AnswerForm(
    path="/messages",
    kind="message",
    is_answer=lambda body: get(body, "type") == "message",
    reason=lambda body: get(body, "stop_reason"),
    error=lambda event: get(event, "error"),
    tokens=_message_tokens,
    last_events=("message_stop",),
    headers={"anthropic-version": "2023-06-01"},
    key_header="x-api-key",
)
