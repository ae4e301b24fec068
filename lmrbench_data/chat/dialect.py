"""The optional parts of a chat request, and the ones to change when a server refuses them."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

Message = dict[str, str]
Options = Mapping[str, Any]
"""The parameters of a request, None for those left out; and as `system`, whether the server takes that role."""

#: Names of the token limit, in the order in which they are tried.
LIMITS = ("max_completion_tokens", "max_tokens")
#: Words by which servers say that a prompt is too long, or that they do not take the role `system`.
_LENGTH = re.compile(r"context.length|context window|maximum context|too long|too many tokens")
SYSTEM = re.compile(r"system['\"` ]*(role|message|prompt|instruction)|role[s:'\"` ]*system|developer instruction")


def all_options(
    temperature: float | None, max_tokens: int | None, name: str, schema: Mapping[str, Any] | None
) -> Options:
    """Return the options to try first, with the JSON schema of the reply and its name."""
    strict = {"type": "json_schema", "json_schema": {"name": name, "strict": True, "schema": schema}}
    form = strict if schema else None
    return {"response_format": form, "temperature": temperature, LIMITS[0]: max_tokens, LIMITS[1]: None, "system": True}


def request_body(messages: Sequence[Message], options: Options) -> dict[str, Any]:
    """Return the messages and parameters to send; without the role `system`, its text begins the user's message."""
    body = {name: value for name, value in options.items() if value is not None and name != "system"}
    if not options["system"]:
        texts = [message["content"] for message in messages if message["role"] == "system"]
        first, *rest = [message for message in messages if message["role"] != "system"]
        messages = [{**first, "content": "\n\n".join([*texts, first["content"]])}, *rest]
    return {"messages": list(messages), **body}


def without_refused(options: Options, complaint: str) -> Options | None:
    """Return the options to try after a 400; None if the request itself is at fault.

    Args:
        complaint: the server's message in lower case.
    """
    limit, has_temperature = options[LIMITS[0]], options["temperature"] is not None
    if is_about_length(complaint):
        return None
    if options["system"] and SYSTEM.search(complaint):
        return {**options, "system": False}
    if has_temperature and "temperature" in complaint:
        return {**options, "temperature": None}
    if (limit or options[LIMITS[1]]) and any(name in complaint for name in LIMITS):
        return {**options, LIMITS[0]: None, LIMITS[1]: limit}
    if options["response_format"]:
        return {**options, "response_format": None}
    return {**options, "temperature": None} if has_temperature else None


def is_about_length(complaint: str) -> bool:
    """Return whether a server complains that the prompt is too long."""
    return bool(_LENGTH.search(complaint)) and not any(name in complaint for name in LIMITS)
