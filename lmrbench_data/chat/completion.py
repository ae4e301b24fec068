"""Read a server's reply of any form as a chat completion."""

from dataclasses import dataclass
from typing import Any

from ..base.text import one_line
from .budget import Tokens, read_usage

CUT = "it was cut at max_tokens (finish_reason length)"
REFUSED = "the model refused to answer"


@dataclass(frozen=True)
class Completion:
    """One reply of a server."""

    text: str
    problem: str = ""
    """The reason for a missing text: a refusal, a tool call, or no content."""
    tokens: Tokens | None = None
    """Tokens of question and answer; None if the server does not report them."""
    finish_reason: str = ""
    temperature: float | None = None
    """None if the server's own was used."""

    @property
    def was_cut(self) -> bool:
        """True if the token limit ended it."""
        return self.finish_reason == "length"


def first_choice(reply: Any) -> dict[str, Any] | None:
    """Return the first choice of a chat or text completion; None if the JSON value of a reply is neither."""
    choices = get(reply, "choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    return choice if isinstance(choice, dict) and ("message" in choice or "text" in choice) else None


def read_completion(reply: Any) -> Completion:
    """Read the JSON value of a reply that has a choice."""
    tokens, choice = read_usage(get(reply, "usage")), first_choice(reply)
    reason = one_line(str(get(choice, "finish_reason")))[:40]
    message = get(choice, "message")
    content = get(message, "content")
    problem = ""
    if get(message, "refusal"):
        problem = REFUSED
    elif get(message, "tool_calls"):
        problem = "the model called a tool instead of answering"
    elif not isinstance(content, str) or not content.strip():
        problem = CUT if reason == "length" else f"it is empty (finish_reason {reason})"
    return Completion("" if problem else str(content), problem, tokens, reason)


def get(value: Any, name: str) -> Any:
    """Return the value of a key; None if `value` is not an object."""
    return value.get(name) if isinstance(value, dict) else None
