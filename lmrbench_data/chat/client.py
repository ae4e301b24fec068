"""Ask a model over any OpenAI-compatible endpoint, with what the server at hand accepts.

What can pass (connection, 408, 409, 429, 5xx) is tried again with backoff, or after as long as Retry-After says; each
try has its own place in the budget. A server that refuses `response_format` or `temperature`, or wants another name for
the limit of tokens, is asked without.
"""

import asyncio
import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from ..base.errors import InfraError, InputError
from ..base.text import one_line
from .address import address_and_key
from .budget import Budget, read_usage
from .completion import Completion, get, read_completion
from .endpoint import Endpoint
from .transport import HttpAnswer, NotAnswered, Transport, parse

if TYPE_CHECKING:
    from types import TracebackType

Message = dict[str, str]

#: How long a server may take to say that it is there; a slow one is asked anyway.
KNOCK_TIMEOUT_S = 10.0
_RETRIED = (408, 409, 429)
#: Seconds; a server that asks for a longer pause is retried as if it had asked for none.
_LONGEST_PAUSE_S = 60.0
_LIMITS = ("max_completion_tokens", "max_tokens", None)
#: Words by which servers name a parameter that they refuse, and by which they say that a prompt is too long.
_FORMAT_WORDS = ("response_format", "response format", "json_schema", "json_object", "structured", "grammar", "guided")
_LENGTH_WORDS = ("context_length", "context length", "context window", "maximum context", "too long", "too many tokens")


@dataclass(frozen=True)
class _Dialect:
    """The features that a server accepts, as far as we know; at first, all."""

    format: int = 0
    temperature: bool = True
    limit: int = 0


class RequestFailed(Exception):
    """A request that has no answer, after all retries.

    `reached` is False if the server gave no answer at all, so that others will hardly fare better; `too_long` is True
    if it says that it cannot take so long a question.
    """

    def __init__(self, message: str, *, reached: bool, too_long: bool = False) -> None:
        super().__init__(message)
        self.reached, self.too_long = reached, too_long


@dataclass
class Refused(Exception):
    """An answer that is an error, after all retries."""

    status: int
    message: str
    """The server's message in one line, without the key."""
    complaint: str
    """The message in lower case, with the name of the parameter that the server complains about."""
    code: str = ""


class ChatClient:
    """A connection to a model; use as an asynchronous context manager.

    Args:
        endpoint: which model, and where.
        temperature: of all answers; None leaves it to the server.
        schema: the JSON schema of an answer, if it has one, and its name.

    Raises:
        InputError: no key, or a malformed address, said before anything is sent.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        temperature: float | None = None,
        schema: Mapping[str, Any] | None = None,
        schema_name: str = "answer",
    ) -> None:
        self.endpoint, self.temperature = endpoint, temperature
        strict = {"name": schema_name, "strict": True, "schema": schema}
        self._formats: tuple[dict[str, Any] | None, ...] = (
            ({"type": "json_schema", "json_schema": strict}, {"type": "json_object"}, None) if schema else (None,)
        )
        base_url, self._key = address_and_key(endpoint.base_url)
        self._transport = Transport(base_url, self._key, endpoint.timeout_s)
        self.server = self._transport.server
        self.budget = Budget()
        """The budget of all requests; replace it to set a limit."""
        self._dialect = _Dialect(temperature=temperature is not None)
        self._answered = self._is_there = False
        self._knocking = asyncio.Lock()
        self._pace = _Pace(endpoint.requests_per_minute)

    async def __aenter__(self) -> Self:
        await self._transport.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: "TracebackType | None"
    ) -> None:
        await self._transport.__aexit__(kind, error, trace)

    @property
    def refused(self) -> str:
        """The features that the server refuses, in words for the user; empty if none."""
        parts = ["a JSON schema"] if self._dialect.format else []
        if self.temperature is not None and not self._dialect.temperature:
            parts.append("a temperature (its own is used)")
        return " and ".join(parts)

    async def complete(self, messages: Sequence[Message]) -> Completion:
        """Ask for one answer.

        Raises:
            RequestFailed: there is none, after all retries.
            CostLimit: the budget allows no more requests.
            InputError: the server knows neither key nor model nor address, or sends requests on to another server: no
                further question makes sense.
            InfraError: nothing answers at the address, or the account has no credit left.
        """
        await self._knock()
        found = read_completion(await self._request(messages))
        return replace(found, temperature=self.temperature if self._dialect.temperature else None)

    async def _knock(self) -> None:
        """Check once, before the first question, that a server listens at the address: a typo needs no retries.

        Raises:
            InfraError: none does.
        """
        async with self._knocking:
            if self._is_there:
                return
            try:
                await self._transport.send("GET", "/models", timeout_s=KNOCK_TIMEOUT_S)
            except NotAnswered as error:
                if error.unreachable:
                    raise InfraError(f"no server answers at {self.server} ({error})") from error
            except InputError:
                pass  # what redirects this may still answer the question itself
            self._is_there = True  # whatever it says to this, it is there

    async def _request(self, messages: Sequence[Message]) -> Any:
        """Request a completion in the fullest dialect that the server accepts."""
        dialect = self._dialect
        while True:
            await self._pace.turn()
            try:
                completion = await self._post("/chat/completions", self._arguments(messages, dialect))
            except Refused as error:
                if error.status not in (400, 422):
                    raise self._told(error) from error
                poorer = self._poorer(dialect, error.complaint)
                if poorer is None:
                    # Once others were answered, this question is at fault: a prompt too long, a filter of contents.
                    too_long = _is_about_length(error.complaint)
                    reached = self._answered or too_long
                    raise RequestFailed(error.message, reached=reached, too_long=too_long) from error
                dialect = poorer
            else:
                self._dialect, self._answered = dialect, True
                return completion

    async def _post(self, path: str, body: Mapping[str, Any]) -> Any:
        """Return the JSON value of an answer, None if it is not JSON, with retries; each has a place in the budget.

        Raises:
            Refused: the last answer was an error.
            RequestFailed: there is no answer.
            CostLimit: the budget allows no more requests.
            InputError: the server sends requests on to another one.
        """
        size = len(json.dumps(body).encode())
        limit = next((body[name] for name in _LIMITS if name and name in body), None)
        for number in range(self.endpoint.retries + 1):
            is_last, pause = number == self.endpoint.retries, min(0.5 * 2**number, 8.0) * random.uniform(0.75, 1.0)
            place = await self.budget.turn(size, limit)
            try:
                answer = await self._transport.send("POST", path, body)
            except NotAnswered as error:
                (self.budget.lose if error.sent else self.budget.release)(place)
                if is_last or error.final:
                    raise RequestFailed(str(error), reached=False) from error
            except InputError:
                self.budget.release(place)
                raise
            except BaseException:  # called off
                self.budget.lose(place)
                raise
            else:
                value = parse(answer.body)
                if answer.status < 300:
                    usage = read_usage(get(value, "usage"))
                    # An answer that is not a completion, such as an error page of a proxy, costs nothing.
                    if usage is None and not get(value, "choices"):
                        self.budget.release(place)
                    else:
                        self.budget.settle(place, usage)
                    return value
                self.budget.release(place)
                if is_last or not (answer.status in _RETRIED or answer.status >= 500):
                    raise self._refusal(answer, value)
                pause = _pause(answer.retry_after) or pause
            await asyncio.sleep(pause)
        raise AssertionError

    def _arguments(self, messages: Sequence[Message], dialect: _Dialect) -> dict[str, Any]:
        arguments: dict[str, Any] = {"model": self.endpoint.model, "messages": list(messages)}
        if (form := self._formats[dialect.format]) is not None:
            arguments["response_format"] = form
        if dialect.temperature:
            arguments["temperature"] = self.temperature
        if self.endpoint.max_tokens is not None and (name := _LIMITS[dialect.limit]):
            arguments[name] = self.endpoint.max_tokens
        return arguments

    def _poorer(self, dialect: _Dialect, complaint: str) -> _Dialect | None:
        """Return the dialect to try after a 400, None if the request itself is at fault.

        Args:
            complaint: what the server said, in lower case.
        """
        if _is_about_length(complaint):
            return None
        limited, last = self.endpoint.max_tokens is not None, len(self._formats) - 1
        named_format = any(word in complaint for word in _FORMAT_WORDS)
        if dialect.temperature and "temperature" in complaint:
            return replace(dialect, temperature=False)
        if limited and _LIMITS[dialect.limit] and any(word in complaint for word in _LIMITS if word):
            return replace(dialect, limit=dialect.limit + 1)
        if dialect.format < last:
            # One that names nothing is first asked without any format: most servers that refuse one refuse both.
            return replace(dialect, format=dialect.format + 1 if named_format else last)
        return replace(dialect, temperature=False) if dialect.temperature else None

    def _told(self, error: Refused) -> Exception:
        """Return the exception for an error that no other wording of the request fixes."""
        what = {
            401: "refuses the key; set OPENAI_API_KEY",
            403: "denies access; check OPENAI_API_KEY and what it may use",
            404: f"knows no model {self.endpoint.model!r}, or no such address (it often ends in /v1)",
        }.get(error.status)
        if what:
            return InputError(f"the server {self.server} {what}: {error.message}")
        if error.code == "insufficient_quota":
            return InfraError(f"the account has no credit left: {error.message}")
        return RequestFailed(error.message, reached=False)

    def _refusal(self, answer: HttpAnswer, value: Any) -> Refused:
        """Read the server's message into one line without the key."""
        inner = get(value, "error")
        body = inner if isinstance(inner, dict) else value
        said = get(body, "message") or get(body, "detail") or (inner if isinstance(inner, str) else "")
        text = str(said or answer.body[:2000].decode("utf-8", "replace"))
        if self._key:
            text = text.replace(self._key, "***")
        message = one_line(f"HTTP {answer.status}: {text}"[:2000])[:300]
        return Refused(answer.status, message, f"{get(body, 'param')} {text}".lower(), str(get(body, "code") or ""))


def _is_about_length(complaint: str) -> bool:
    names_limit = any(word in complaint for word in _LIMITS if word)
    return any(word in complaint for word in _LENGTH_WORDS) and not names_limit


def _pause(retry_after: str) -> float | None:
    """Return the seconds that a server asks for; None if it asks for none or too many."""
    try:
        seconds = float(retry_after)
    except ValueError:
        return None
    return seconds if 0 < seconds <= _LONGEST_PAUSE_S else None


class _Pace:
    """Spaces requests evenly."""

    def __init__(self, per_minute: float | None) -> None:
        self._interval = 60 / per_minute if per_minute else 0.0
        self._next = 0.0

    async def turn(self) -> None:
        """Wait until the next request may start."""
        if not self._interval:
            return
        now = asyncio.get_running_loop().time()
        start = max(now, self._next)
        self._next = start + self._interval
        await asyncio.sleep(start - now)
