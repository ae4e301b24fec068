"""Classify what a server sent: an answer or a problem, whether it may be billed, and whether it passes."""

import contextlib
import email.utils
import json
import random
import time
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..base.finish_reasons import Ending, ending
from .budget import Tokens, read_tokens
from .refusals import Refusal, get, status_inside

if TYPE_CHECKING:
    import httpx2

#: Where a response states why its body cannot be read.
DAMAGE = "lmrbench"
#: Statuses of gateways that stopped waiting: the server behind them may still answer, and bill.
_LOST = (504, 524)
#: A server that asks for a longer pause is not asked again.
_LONGEST_WAIT_S = 120.0


@dataclass(frozen=True)
class Reply:
    """An answer of a server, or the problem that takes its place."""

    response: "httpx2.Response"
    status: int  # HTTP's, or the one that a reply without an answer deserves; 0 if nothing came
    problem: str = ""  # the reason why there is no answer
    is_billed: bool = False  # also if it only may be
    is_lost: bool = False  # the same request would probably end the same way again

    @cached_property
    def body(self) -> Any:
        """The JSON value, or the text if there is none."""
        return _json(self.response.content) or self.response.text

    @cached_property
    def events(self) -> list[Any]:
        """The JSON values: several if it is a stream."""
        if not isinstance(self.body, str):
            return [self.body]
        return [
            _json(line.removeprefix(b"data:"))
            for line in self.response.content.split(b"\n")
            if line
        ]

    @cached_property
    def tokens(self) -> Tokens | None:
        """The tokens that the server reports; None if it reports none."""
        for event in reversed(self.events):
            if tokens := read_tokens(get(event, "usage")):
                return tokens
        return None

    @cached_property
    def refusal(self) -> Refusal:
        """The error that the body states."""
        return Refusal.of(self.body)

    @property
    def is_passing(self) -> bool:
        """True if the status means that the same request may succeed, and the server does not forbid to repeat it."""
        is_forbidden = (
            self.response.headers.get("x-should-retry") == "false" or self._wait_s > _LONGEST_WAIT_S
        )
        return not (self.is_lost or is_forbidden) and (
            self.status in (0, 408, 409, 429) or self.status >= 500
        )

    def pause_s(self, tries: int) -> float:
        """Return the seconds to wait after so many tries: as the server asks, or twice as long each time."""
        if 0 < self._wait_s <= _LONGEST_WAIT_S:
            return self._wait_s
        return random.uniform(0.75, 1.0) * min(0.5 * 2.0 ** min(tries, 9), 8.0)

    @property
    def _wait_s(self) -> float:
        """The seconds that the server asks to wait, which may be a date; 0 if it does not ask."""
        headers = self.response.headers
        for name, unit_s in (("Retry-After-Ms", 0.001), ("Retry-After", 1.0)):
            with contextlib.suppress(ValueError):
                return float(headers.get(name, "")) * unit_s
        with contextlib.suppress(TypeError, ValueError, OverflowError, OSError):
            return (
                email.utils.parsedate_to_datetime(headers.get("Retry-After", "")).timestamp()
                - time.time()
            )
        return 0.0


def read_reply(response: "httpx2.Response") -> Reply:
    """Classify a response; a reply without an answer gets the status that it states, or 502."""
    reply = Reply(response, response.status_code)
    damage = response.extensions.get(DAMAGE, "")
    if response.is_redirect:
        target = response.headers.get("Location", "").partition("?")[0].rpartition("@")[2]
        problem = f"it redirects to {target} (HTTP {reply.status}); nothing was sent there"
        return replace(reply, status=302, problem=f"{problem}. If you trust it, name it instead")
    if not response.is_success:
        reply = replace(reply, problem=damage or f"HTTP {reply.status}: {reply.refusal.message}")
    elif damage:
        return replace(reply, status=502, problem=damage, is_billed=True, is_lost=True)
    elif response.headers.get("Content-Type", "").startswith("text/event-stream"):
        return replace(reply, is_billed=True)
    else:
        reply = _read_success(reply)
    return replace(reply, is_billed=True, is_lost=True) if reply.status in _LOST else reply


def _read_success(reply: Reply) -> Reply:
    """Look for the answer in a reply of status 200."""
    choice = get(reply.body, "choices", 0)
    error = get(reply.body, "error")
    reason = get(choice, "finish_reason")
    is_choice = isinstance(choice, dict) and "delta" not in choice  # as in an event of a stream
    if (
        is_choice
        and not (error or get(choice, "error"))
        and (choice.get("message") is not None or reason)
    ):
        reply = replace(reply, is_billed=True)
        if ending(reason) is not Ending.GAVE_UP:
            return reply
        return replace(
            reply, status=502, problem=f"the answer ended with an error: finish_reason {reason}"
        )
    is_completion = isinstance(get(reply.body, "choices"), list) and not error
    reply = replace(reply, is_billed=bool(is_completion or get(reply.body, "usage")))
    kind = (
        "the answer ended with an error"
        if get(choice, "error")
        else "the server's answer is not a chat completion"
    )
    if reply.response.text.lstrip().startswith("<"):
        return replace(
            reply, status=502, problem=f"{kind} but a web page (the address often ends in /v1)"
        )
    problem = f"{kind}: {reply.refusal.message or reply.response.text[:200]}"
    return replace(reply, status=status_inside(reply.refusal), problem=problem)


def _json(content: bytes) -> Any:
    """Return a JSON value; None if there is none."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None
