"""Ask a model over any OpenAI-compatible endpoint, with the parameters that the server accepts.

Transient errors (connection, 408, 409, 429, 5xx, or no completion in the answer) are retried with backoff or after the
server's Retry-After; each try reserves its own part of the budget. A server that refuses `response_format` or
`temperature`, or expects another name for the token limit, is asked without it.
"""

import asyncio
import json
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from ..base.errors import InfraError, InputError
from ..base.text import one_line
from .address import address_and_key
from .budget import Budget, read_usage
from .completion import Completion, first_choice, get, read_completion
from .dialect import LIMITS, Dialect, is_about_length, response_formats
from .endpoint import Endpoint
from .pace import Pace
from .transport import HttpAnswer, NotAnswered, Transport, parse

if TYPE_CHECKING:
    from types import TracebackType

Message = dict[str, str]

#: Seconds for the first contact; a slower server is asked anyway.
KNOCK_TIMEOUT_S = 10.0
_RETRIED = (408, 409, 429)
#: Seconds; a server that asks for a longer pause is retried as if it had asked for none.
_LONGEST_PAUSE_S = 60.0


class RequestFailed(Exception):
    """A request that failed after all retries.

    `reached` is False if the server did not answer at all, so that other requests will probably fail too; `too_long`
    is True if the server says that the prompt is too long, `is_no_model` if it answers with something else than a
    completion.
    """

    def __init__(self, message: str, *, reached: bool, too_long: bool = False, is_no_model: bool = False) -> None:
        super().__init__(message)
        self.reached, self.too_long, self.is_no_model = reached, too_long, is_no_model


@dataclass
class Refused(Exception):
    """An HTTP error that remains after all retries."""

    status: int
    message: str
    """The server's message in one line, without the key."""
    complaint: str
    """The message in lower case, with the name of the parameter that the server complains about."""
    code: str = ""


class ChatClient:
    """A connection to a model; use as an asynchronous context manager.

    Args:
        endpoint: the model and its server.
        temperature: of all answers; None for the server's own.
        schema: the JSON schema of answers.
        schema_name: its name.

    Raises:
        InputError: there is no key, or the address is malformed. Nothing has been sent.
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
        self._wanted = Dialect(response_formats(schema_name, schema), temperature, endpoint.max_tokens)
        self._dialect = self._wanted
        base_url, self._key = address_and_key(endpoint.base_url)
        self._transport = Transport(base_url, self._key, endpoint.timeout_s)
        self.server = self._transport.server
        self.budget = Budget()
        """The budget of all requests; replace it to set a limit."""
        self._answered = self._is_there = False
        self._knocking = asyncio.Lock()
        self._pace = Pace(endpoint.requests_per_minute)

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
        parts = ["a JSON schema"] if self._dialect.formats != self._wanted.formats else []
        if self._dialect.temperature != self.temperature:
            parts.append("a temperature (its own is used)")
        return " and ".join(parts)

    async def complete(self, messages: Sequence[Message]) -> Completion:
        """Ask for one answer.

        Raises:
            RequestFailed: all tries failed.
            CostLimit: the budget allows no more requests.
            InputError: the server rejects the key, the model or the address, or redirects to another server; further
                requests would fail too.
            InfraError: no server answers at the address, or the account has no credit left.
        """
        await self._knock()
        found = read_completion(await self._request(messages))
        return replace(found, temperature=self._dialect.temperature)

    async def _knock(self) -> None:
        """Check once, before the first request, that a server listens at the address: a typo needs no retries.

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
                pass  # a server that redirects this may still answer the request itself
            self._is_there = True  # any answer will do

    async def _request(self, messages: Sequence[Message]) -> Any:
        """Request a completion in the fullest dialect that the server accepts."""
        dialect, asked = self._dialect, {"model": self.endpoint.model, "messages": list(messages)}
        while True:
            await self._pace.turn()
            try:
                completion = await self._post("/chat/completions", asked | dialect.arguments())
            except Refused as error:
                if error.status not in (400, 422):
                    raise self._told(error) from error
                poorer = dialect.poorer(error.complaint)
                if poorer is None:
                    # If others were answered, this request is at fault: its prompt is too long or was filtered.
                    too_long = is_about_length(error.complaint)
                    reached = self._answered or too_long
                    raise RequestFailed(error.message, reached=reached, too_long=too_long) from error
                dialect = poorer
            else:
                self._dialect, self._answered = dialect, True
                return completion

    async def _post(self, path: str, body: Mapping[str, Any]) -> Any:
        """Send a request with retries; return the JSON value of the answer, which has a first choice.

        Raises:
            Refused: the last answer was an error.
            RequestFailed: there is no answer, or no completion in it.
            CostLimit: the budget allows no more requests.
            InputError: the server redirects to another one.
        """
        size = len(json.dumps(body).encode())
        limit = next((body[name] for name in LIMITS if name in body), None)
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
            except BaseException:  # cancelled
                self.budget.lose(place)
                raise
            else:
                value = parse(answer.body)
                is_done, usage = answer.status < 300, read_usage(get(value, "usage"))
                is_completion = is_done and first_choice(value) is not None
                if is_completion or (is_done and usage):
                    self.budget.settle(place, usage)
                else:
                    self.budget.release(place)
                if is_completion:
                    return value
                if is_done and is_last:
                    message = one_line(f"the server's answer is not a chat completion: {self._text(answer, value)}")[
                        :300
                    ]
                    raise RequestFailed(message, reached=False, is_no_model=True)
                if is_last or not (is_done or answer.status in _RETRIED or answer.status >= 500):
                    raise self._refusal(answer, value)
                pause = _pause(answer.retry_after) or pause
            await asyncio.sleep(pause)
        raise AssertionError

    def _told(self, error: Refused) -> Exception:
        """Return the exception for an error that other parameters do not fix."""
        what = {
            401: "refuses the key; set OPENAI_API_KEY",
            403: "denies access; check OPENAI_API_KEY and its permissions",
            404: f"does not know the model {self.endpoint.model!r} or the address (it often ends in /v1)",
            **dict.fromkeys((405, 501), "has no models at this address (it often ends in /v1)"),
        }.get(error.status)
        if what:
            return InputError(f"the server {self.server} {what}: {error.message}")
        if error.code == "insufficient_quota":
            return InfraError(f"the account has no credit left: {error.message}")
        return RequestFailed(error.message, reached=False)

    def _refusal(self, answer: HttpAnswer, value: Any) -> Refused:
        text, body = self._text(answer, value), _error(value)
        message = one_line(f"HTTP {answer.status}: {text}")[:300]
        return Refused(answer.status, message, f"{get(body, 'param')} {text}".lower(), str(get(body, "code") or ""))

    def _text(self, answer: HttpAnswer, value: Any) -> str:
        """Return the server's message, or the beginning of its answer, without the key."""
        said = get(_error(value), "message") or get(_error(value), "detail") or get(value, "error")
        text = str(said or answer.body[:2000].decode("utf-8", "replace"))
        if text.lstrip().startswith("<"):  # a page
            text = re.sub(r"<(style|script)\b.*?</\1>|<[^>]*>", " ", text, flags=re.DOTALL | re.IGNORECASE)
        return (text.replace(self._key, "***") if self._key else text)[:2000]


def _error(value: Any) -> Any:
    """Return the object that describes an error: `error`, or the value itself."""
    inner = get(value, "error")
    return inner if isinstance(inner, dict) else value


def _pause(retry_after: str) -> float | None:
    """Read the pause in seconds that a server asks for; None if there is none, or it is too long."""
    try:
        seconds = float(retry_after)
    except ValueError:
        return None
    return seconds if 0 < seconds <= _LONGEST_PAUSE_S else None
