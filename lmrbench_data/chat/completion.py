"""Read a server's reply of any form as a chat completion."""

from dataclasses import dataclass
from typing import Any

from ..base.text import one_line
from .budget import Tokens, read_usage

NO_COMPLETION = "the server's answer is not a chat completion"
CUT = "it was cut at max_tokens (finish_reason length)"
REFUSED = "the model refused to answer"


@dataclass(frozen=True)
class Completion:
    """One reply of a server."""

    text: str
    problem: str = ""
    """The reason for a missing text: not a completion, a refusal, a tool call, or no content."""
    tokens: Tokens | None = None
    """Tokens of question and answer; None if the server does not report them."""
    finish_reason: str = ""
    temperature: float | None = None
    """None if the server's own was used."""

    @property
    def was_cut(self) -> bool:
        """True if the token limit ended it."""
        return self.finish_reason == "length"


def read_completion(completion: Any) -> Completion:
    """Read the JSON value of a reply."""
    tokens = read_usage(get(completion, "usage"))
    choices = get(completion, "choices")
    if not isinstance(choices, list) or not choices:
        return Completion("", NO_COMPLETION, tokens)
    reason = one_line(str(get(choices[0], "finish_reason")))[:40]
    message = get(choices[0], "message")
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
