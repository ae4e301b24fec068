"""The optional parts of a chat request, and the ones to change when a server refuses them."""

from collections.abc import Mapping, Sequence
from typing import Any

from .refusals import LIMITS, Cause, Refusal

Message = dict[str, str]
Options = Mapping[str, Any]
"""The parameters of a request, None for those left out; and as `system`, whether the server takes that role."""


def all_options(
    temperature: float | None, max_tokens: int | None, name: str, schema: Mapping[str, Any] | None
) -> Options:
    """Return the options to try first, with the JSON schema of the reply and its name."""
    strict = {"type": "json_schema", "json_schema": {"name": name, "strict": True, "schema": schema}}
    form = strict if schema else None
    more = {LIMITS[0]: max_tokens, LIMITS[1]: None, "system": True}
    # Some gateways stream unless they are told not to.
    return {"response_format": form, "temperature": temperature, "stream": False, **more}


def request_body(messages: Sequence[Message], options: Options) -> dict[str, Any]:
    """Return the messages and parameters to send; without the role `system`, its text begins the user's message."""
    body = {name: value for name, value in options.items() if value is not None and name != "system"}
    if not options["system"]:
        texts = [message["content"] for message in messages if message["role"] == "system"]
        first, *rest = [message for message in messages if message["role"] != "system"]
        messages = [{**first, "content": "\n\n".join([*texts, first["content"]])}, *rest]
    return {"messages": list(messages), **body}


def without_refused(options: Options, refusal: Refusal, cause: Cause | None) -> Options | None:
    """Return the options without the one that a refusal names; None if it names none that can go.

    A token limit is never dropped: it gets its other name, once.
    """
    if cause is Cause.ROLE and options["system"]:
        return {**options, "system": False}
    if cause not in (Cause.ACCESS, Cause.UNKNOWN):
        return None
    sent = [name for name, value in options.items() if name not in ("system", LIMITS[1]) and value is not None]
    places = {name: place for name in sent if (place := refusal.place_of(name)) is not None}
    if not places:
        return None
    refused = min(places, key=lambda name: places[name])
    other = {LIMITS[1]: options[LIMITS[0]]} if refused == LIMITS[0] else {}
    return {**options, refused: None, **other}
