"""Ask a model over any OpenAI-compatible server, with the parameters that the server accepts.

The `openai` client sends, times out, waits and retries: on connection errors, 408, 409, 429, 5xx and replies without a
completion, with backoff or after the server's Retry-After of up to two minutes. A server that refuses
`response_format`, `temperature` or the role `system`, or expects another name for the token limit, is asked without it.
"""

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from ..base.errors import InfraError, InputError
from ..base.text import one_line
from .budget import Budget, Tokens, read_usage
from .dialect import Dialect, Message, is_about_length, response_formats
from .endpoint import Endpoint
from .server import REASON, address_and_key, connect, first_choice, get, json_of, server_name

if TYPE_CHECKING:
    import httpx2

__all__ = ["ChatClient", "Completion", "Message", "RequestFailed"]

CUT = "it was cut at max_tokens (finish_reason length)"
REFUSED = "the model refused to answer"
#: Seconds for the first contact; a slower server is asked anyway.
KNOCK_TIMEOUT_S = 4.5


class RequestFailed(Exception):
    """A request that failed after all retries.

    `reached` is False if the server did not answer at all, so that other requests will probably fail too; `too_long`
    is True if the server says that the prompt is too long, `is_no_model` if it answers with something else than a
    completion.
    """

    def __init__(self, message: str, *, reached: bool, too_long: bool = False, is_no_model: bool = False) -> None:
        super().__init__(message)
        self.reached, self.too_long, self.is_no_model = reached, too_long, is_no_model


@dataclass(frozen=True)
class Completion:
    """One reply of a model."""

    text: str
    problem: str = ""
    """The reason for a missing text: a refusal, a tool call, or no content."""
    tokens: Tokens | None = None
    """None if the server does not report them."""
    cost_usd: float | None = None
    """None if the price or the tokens are unknown."""
    finish_reason: str = ""
    temperature: float | None = None
    """None if the server's own was used."""
    has_system_role: bool = True
    """False if the system text was part of the user's first message."""

    @property
    def was_cut(self) -> bool:
        """True if the token limit ended it."""
        return self.finish_reason == "length"


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
        self._full = self._dialect = Dialect(response_formats(schema_name, schema), temperature, endpoint.max_tokens)
        self._url, self._key = address_and_key(endpoint.base_url)
        self.server = server_name(self._url)
        self.budget = Budget()
        """The budget of all requests; replace it to set a limit."""
        self._answered = self._is_reachable = False
        self._knocking = asyncio.Lock()
        self._interval = 60 / endpoint.requests_per_minute if endpoint.requests_per_minute else 0.0
        self._next_start = 0.0

    async def __aenter__(self) -> Self:
        self._openai = connect(self._url, self._key, timeout_s=self.endpoint.timeout_s, retries=self.endpoint.retries)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._openai.close()

    @property
    def refused(self) -> str:
        """The features that the server refuses, in words for the user; empty if none."""
        parts = ["a JSON schema"] if self._dialect.formats != self._full.formats else []
        if self._dialect.temperature != self.temperature:
            parts.append("a temperature (its own is used)")
        if not self._dialect.has_system_role:
            parts.append("the role system (its text begins the user's message)")
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
        import httpx2
        import openai

        await self._check_reachable()
        dialect = self._dialect
        while True:
            await self._pace()
            self.budget.check()
            body = {"model": self.endpoint.model, **dialect.body(messages)}
            try:
                response = await self._openai.post("/chat/completions", cast_to=httpx2.Response, body=body)
            except openai.APIConnectionError as error:
                raise RequestFailed(self._reason(error), reached=False) from error
            except openai.APIStatusError as error:
                message, complaint = self._message(error.response)
                poorer = dialect.poorer(complaint) if error.status_code in (400, 422) else None
                if poorer is None:
                    raise self._failure(error.response, message, complaint) from error
                dialect = poorer
            else:
                self._dialect, self._answered = dialect, True
                return self._read(json_of(response), dialect)

    async def _check_reachable(self) -> None:
        """Check once, before the first request, that a server listens at the address: a typo needs no retries.

        Raises:
            InfraError: none does.
        """
        import httpx2
        import openai

        async with self._knocking:
            if self._is_reachable:
                return
            knock = self._openai.with_options(max_retries=0, timeout=min(KNOCK_TIMEOUT_S, self.endpoint.timeout_s))
            try:
                await knock.get("/models", cast_to=httpx2.Response)
            except (openai.APITimeoutError, openai.APIStatusError, InputError):
                pass  # any answer will do, and a server that redirects this may still answer the request itself
            except openai.APIConnectionError as error:
                raise InfraError(f"no server answers at {self.server} ({self._reason(error)})") from error
            self._is_reachable = True

    async def _pace(self) -> None:
        """Wait until the next request may start."""
        now = asyncio.get_running_loop().time()
        start = max(now, self._next_start)
        self._next_start = start + self._interval
        await asyncio.sleep(start - now)

    def _read(self, reply: Any, dialect: Dialect) -> Completion:
        """Read the JSON value of a reply, and count its cost."""
        tokens, choice = read_usage(get(reply, "usage")), first_choice(reply)
        self.budget.add(tokens)
        reason = one_line(str(get(choice, "finish_reason")))[:40]
        message = get(choice, "message")
        text, problem = _text(get(message, "content")), ""
        if get(message, "refusal"):
            problem = REFUSED
        elif get(message, "tool_calls"):
            problem = "the model called a tool instead of answering"
        elif not text.strip():
            problem = CUT if reason == "length" else f"it is empty (finish_reason {reason})"
        return Completion(
            "" if problem else text,
            problem,
            tokens,
            self.budget.cost(tokens),
            reason,
            dialect.temperature,
            dialect.has_system_role,
        )

    def _message(self, response: "httpx2.Response") -> tuple[str, str]:
        """Return a server's message in one line, without the key, and in lower case with the parameter it is about."""
        value = json_of(response)
        inner = get(value, "error")
        error = inner if isinstance(inner, dict) else value
        text = str(get(error, "message") or get(error, "detail") or inner or response.text[:2000])
        if text.lstrip().startswith("<"):  # a page
            text = re.sub(r"<(style|script)\b.*?</\1>|<[^>]*>", " ", text, flags=re.DOTALL | re.IGNORECASE)
        reason = str(response.extensions.get(REASON, f"HTTP {response.status_code}"))
        message = f"{reason}: {text}" if first_choice(value) is None else reason
        message = message.replace(self._key, "***") if self._key else message
        return one_line(message)[:300], f"{get(error, 'param')} {text[:2000]}".lower()

    def _failure(self, response: "httpx2.Response", message: str, complaint: str) -> Exception:
        """Return the exception for an error that neither retries nor other parameters fix."""
        if REASON in response.extensions:
            return RequestFailed(message, reached=False, is_no_model=first_choice(json_of(response)) is None)
        status = response.status_code
        hint = {
            401: "refuses the key; set OPENAI_API_KEY",
            403: "denies access; check OPENAI_API_KEY and its permissions",
            404: f"does not know the model {self.endpoint.model!r} or the address (it often ends in /v1)",
            **dict.fromkeys((405, 501), "has no models at this address (it often ends in /v1)"),
        }.get(status)
        if hint:
            return InputError(f"the server {self.server} {hint}: {message}")
        if status == 402:
            return InfraError(f"the account has no credit left: {message}")
        # If others were answered, a refused request is at fault itself: its prompt is too long or was filtered.
        is_refused = status in (400, 422)
        too_long = is_refused and is_about_length(complaint)
        return RequestFailed(message, reached=too_long or (is_refused and self._answered), too_long=too_long)

    def _reason(self, error: Exception) -> str:
        """Return in one line why there is no answer."""
        import openai

        if isinstance(error, openai.APITimeoutError):
            return f"no answer within {self.endpoint.timeout_s:g} s"
        cause = error.__cause__ or error
        return one_line(f"{type(cause).__name__}: {cause}".removesuffix(": "))[:200]


def _text(content: Any) -> str:
    """Return the text of a message: a string, or a list of parts of which some are text."""
    if isinstance(content, list):
        content = "".join(str(get(part, "text") or "") for part in content if get(part, "type") == "text")
    return content if isinstance(content, str) else ""
