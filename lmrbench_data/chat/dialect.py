"""The optional parts of a chat request, and the ones to change when a server refuses them."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

Message = dict[str, str]

#: Names of the token limit, in the order in which they are tried.
LIMITS = ("max_completion_tokens", "max_tokens")
#: Words by which servers name a parameter that they refuse, and by which they say that a prompt is too long.
_FORMAT_WORDS = ("response_format", "response format", "json_schema", "json_object", "structured", "grammar", "guided")
_LENGTH_WORDS = ("context_length", "context length", "context window", "maximum context", "too long", "too many tokens")
_SYSTEM = re.compile(r"system['\"` ]*(role|message|prompt|instruction)|role[s:'\"` ]*system|developer instruction")

Format = Mapping[str, Any] | None


def response_formats(name: str, schema: Mapping[str, Any] | None) -> tuple[Format, ...]:
    """Return the response formats to try for a JSON schema, the strictest first."""
    if not schema:
        return (None,)
    strict = {"name": name, "strict": True, "schema": schema}
    return {"type": "json_schema", "json_schema": strict}, {"type": "json_object"}, None


@dataclass(frozen=True)
class Dialect:
    """The optional parameters that a server accepts, as far as we know."""

    formats: tuple[Format, ...]
    """The response formats that it has not refused; the first is used."""
    temperature: float | None
    max_tokens: int | None
    limits: tuple[str, ...] = LIMITS
    """The names of the token limit that it has not refused; the first is used."""
    has_system_role: bool = True

    def body(self, messages: Sequence[Message]) -> dict[str, Any]:
        """Return the messages and parameters to send."""
        values: dict[str, Any] = {"response_format": self.formats[0], "temperature": self.temperature}
        values |= dict.fromkeys(self.limits[:1], self.max_tokens)
        sent = list(messages) if self.has_system_role else _without_system(messages)
        return {"messages": sent, **{name: value for name, value in values.items() if value is not None}}

    def poorer(self, complaint: str) -> "Dialect | None":
        """Return the dialect to try after a 400; None if the request itself is at fault.

        Args:
            complaint: the server's message in lower case.
        """
        if is_about_length(complaint):
            return None
        if self.has_system_role and is_about_system(complaint):
            return replace(self, has_system_role=False)
        if self.temperature is not None and "temperature" in complaint:
            return replace(self, temperature=None)
        if self.max_tokens and self.limits and any(name in complaint for name in LIMITS):
            return replace(self, limits=self.limits[1:])
        if len(self.formats) > 1:
            # After a complaint that names nothing, drop the format: most servers that refuse one refuse both.
            is_named = any(word in complaint for word in _FORMAT_WORDS)
            return replace(self, formats=self.formats[1:] if is_named else self.formats[-1:])
        return replace(self, temperature=None) if self.temperature is not None else None


def is_about_length(complaint: str) -> bool:
    """Return whether a server complains that the prompt is too long."""
    names_limit = any(name in complaint for name in LIMITS)
    return any(word in complaint for word in _LENGTH_WORDS) and not names_limit


def is_about_system(complaint: str) -> bool:
    """Return whether a server complains about a message with the role `system`."""
    return bool(_SYSTEM.search(complaint))


def _without_system(messages: Sequence[Message]) -> list[Message]:
    """Return messages whose system text stands at the head of the user's first message."""
    texts = [message["content"] for message in messages if message["role"] == "system"]
    first, *rest = [message for message in messages if message["role"] != "system"]
    return [{**first, "content": "\n\n".join([*texts, first["content"]])}, *rest]
