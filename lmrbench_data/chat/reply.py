"""Classify what a server sent: an answer or a problem, billed or not, passing or not."""

import contextlib
import email.utils
import json
import random
import re
import time
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..base.text import one_line
from .answer_forms import CHAT, AnswerForm
from .budget import Tokens
from .finish_reasons import Ending, ending
from .refusals import Refusal, get, status_inside

if TYPE_CHECKING:
    import httpx2

#: Where a response states why its body cannot be read.
DAMAGE = "lmrbench"
#: Such a reason after which the same request may succeed.
BROKEN_OFF = "the connection broke before the answer ended"
#: Statuses of gateways that stopped waiting: the server behind them may still answer, and bill.
_LOST = (504, 524)
#: The title of a web page stands in its first characters.
_MAX_PAGE = 4000
#: A server that asks for a longer pause is not asked again.
_LONGEST_WAIT_S = 120.0


@dataclass(frozen=True)
class Reply:
    """An answer of a server, or the problem that takes its place."""

    response: "httpx2.Response"
    status: int
    """The HTTP status, or the one that fits a reply without an answer; 0 if nothing came."""
    problem: str = ""
    """The reason why there is no answer."""
    is_billed: bool = False
    """Whether the server bills the request, or may."""
    is_lost: bool = False
    """Whether the same request would probably end the same way again."""
    form: AnswerForm = CHAT

    @cached_property
    def body(self) -> Any:
        """The JSON value, or the text if there is none."""
        return _json(self.response.content) or self.response.text

    @cached_property
    def events(self) -> list[Any]:
        """The JSON values: several if it is a stream."""
        if not isinstance(self.body, str):
            return [self.body]
        lines = self.response.content.split(b"\n")
        return [_json(line.removeprefix(b"data:")) for line in lines if line]

    @cached_property
    def tokens(self) -> Tokens | None:
        """The tokens that the server reports; None if it reports none."""
        return self.form.tokens(self.events)

    @property
    def break_off(self) -> str:
        """Why an answer that began is not whole; empty if it is."""
        for event in self.events:
            error = self.form.error(event)
            if error:
                return str(get(error, "message") or error)
        is_stream = isinstance(self.body, str)
        ends = self.form.last_events
        if is_stream and ends and not any(get(event, "type") in ends for event in self.events):
            return "the stream ended early"
        return ""

    @cached_property
    def refusal(self) -> Refusal:
        """The error that the body states."""
        return Refusal.of(self.body)

    @property
    def is_passing(self) -> bool:
        """Whether the same request may succeed, and the server does not forbid to repeat it."""
        if self.is_lost or self._wait_s > _LONGEST_WAIT_S:
            return False
        if self.response.headers.get("x-should-retry") == "false":
            return False
        return self.status in (0, 408, 409, 429) or self.status >= 500

    def pause_s(self, tries: int) -> float:
        """Return the seconds to wait: as the server asks, or twice as long after each try."""
        if 0 < self._wait_s <= _LONGEST_WAIT_S:
            return self._wait_s
        return random.uniform(0.75, 1.0) * min(0.5 * 2.0 ** min(tries, 9), 8.0)

    @property
    def _wait_s(self) -> float:
        """The seconds that the server asks to wait, which may be a date; 0 if it does not ask."""
        headers = self.response.headers
        with contextlib.suppress(ValueError):
            return float(headers.get("Retry-After-Ms", "")) / 1000
        asked = headers.get("Retry-After", "")
        with contextlib.suppress(ValueError):
            return float(asked)
        with contextlib.suppress(TypeError, ValueError, OverflowError, OSError):
            return email.utils.parsedate_to_datetime(asked).timestamp() - time.time()
        return 0.0


def read_reply(response: "httpx2.Response", form: AnswerForm) -> Reply:
    """Classify a response; a reply without an answer gets the status that it states, or 502."""
    reply = Reply(response, response.status_code, form=form)
    damage = response.extensions.get(DAMAGE, "")
    if response.is_redirect:
        return _redirect(reply)
    if not response.is_success:
        reply = replace(reply, problem=damage or f"HTTP {reply.status}: {_stated_problem(reply)}")
    elif damage:
        is_lost = damage != BROKEN_OFF
        return replace(reply, status=502, problem=damage, is_billed=True, is_lost=is_lost)
    elif _is_stream(response):
        return replace(reply, is_billed=True)
    else:
        reply = _read_success(reply)
    if reply.status in _LOST:
        return replace(reply, is_billed=True, is_lost=True)
    return reply


def _stated_problem(reply: Reply) -> str:
    """Return the message of an error, or the title of a web page."""
    text = reply.response.text.lstrip()
    if not text.startswith("<"):
        return reply.refusal.message
    title = re.search(r"<title[^>]*>([^<]*)", text[:_MAX_PAGE], re.IGNORECASE)
    return f"a web page ({one_line(title[1])})" if title else "a web page"


def _is_stream(response: "httpx2.Response") -> bool:
    """Return whether a body is a stream of events; some servers call theirs JSON."""
    kind = response.headers.get("Content-Type", "")
    return kind.startswith("text/event-stream") or response.text.startswith("data: {")


def _redirect(reply: Reply) -> Reply:
    location = reply.response.headers.get("Location", "")
    target = location.partition("?")[0].rpartition("@")[2]  # without a key or a password
    problem = f"it redirects to {target} (HTTP {reply.status}); nothing was sent there"
    return replace(reply, status=302, problem=f"{problem}. If you trust it, name it instead")


def _read_success(reply: Reply) -> Reply:
    """Look for the answer in a reply of status 200."""
    if get(reply.body, "error") or not reply.form.is_answer(reply.body):
        return _read_refusal(reply)
    reply = replace(reply, is_billed=True)
    reason = reply.form.reason(reply.body)
    if ending(reason) is Ending.GAVE_UP:
        problem = f"the answer ended with an error: finish_reason {reason}"
        return replace(reply, status=502, problem=problem)
    return reply


def _read_refusal(reply: Reply) -> Reply:
    """Classify a reply of status 200 without an answer."""
    body = reply.body
    is_completion = isinstance(get(body, "choices"), list) and not get(body, "error")
    reply = replace(reply, is_billed=bool(is_completion or get(body, "usage")))
    kind = f"the server's answer is not a {reply.form.kind}"
    if get(body, "choices", 0, "error"):
        kind = "the answer ended with an error"
    if reply.response.text.lstrip().startswith("<"):
        problem = f"{kind} but a web page (the address often ends in /v1)"
        return replace(reply, status=502, problem=problem)
    problem = f"{kind}: {reply.refusal.message or reply.response.text[:200]}"
    return replace(reply, status=status_inside(reply.refusal), problem=problem)


def _json(content: bytes) -> Any:
    """Return a JSON value; None if there is none."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None
