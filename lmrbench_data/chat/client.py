"""Ask a model over any OpenAI-compatible endpoint, with what the server at hand accepts.

The `openai` client retries what can pass (connection, 408, 409, 429, 5xx) with backoff and honours Retry-After. Here a
server that refuses `response_format` or `temperature`, or wants another name for the limit of tokens, is asked without.
"""

import asyncio
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from ..errors import InfraError, InputError
from ..text import one_line
from .address import address_and_key, is_plain_and_local, server_name

if TYPE_CHECKING:
    from types import TracebackType

    import openai

Message = dict[str, str]

NO_COMPLETION = "the server's answer is not a chat completion"
CUT = "it was cut at max_tokens (finish_reason length)"
REFUSED = "the model refused to answer"
#: How long a server may take to say that it is there; a slow one is asked anyway.
KNOCK_TIMEOUT_S = 10.0
_LIMITS = ("max_completion_tokens", "max_tokens", None)
#: Words by which servers name a parameter that they refuse, and by which they say that a prompt is too long.
_FORMAT_WORDS = ("response_format", "response format", "json_schema", "json_object", "structured", "grammar", "guided")
_LENGTH_WORDS = ("context_length", "context length", "context window", "maximum context", "too long", "too many tokens")


@dataclass(frozen=True)
class Endpoint:
    """Which model is asked, where and how patiently."""

    model: str
    base_url: str | None = None
    """None: OPENAI_BASE_URL, else OpenAI's own."""
    retries: int = 5
    timeout_s: float = 300.0
    max_tokens: int | None = None
    """Of an answer; None leaves it to the server."""
    per_minute: float | None = None
    """Requests started, retries aside; None sets no limit."""


@dataclass(frozen=True)
class Completion:
    """One answer of a server, of which nothing is taken for granted."""

    text: str
    problem: str = ""
    """Why there is no text: not a completion, a refusal, a tool call, nothing. Empty if there is some."""
    tokens: tuple[int, int] | None = None
    """Of question and answer; None if the server does not say."""
    finish_reason: str = ""
    temperature: float | None = None
    """None if the server's own was used."""

    @property
    def was_cut(self) -> bool:
        """Whether the limit of tokens ended it."""
        return self.finish_reason == "length"


@dataclass(frozen=True)
class _Dialect:
    """What a server accepts, as far as we know; it starts with everything."""

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
        self.base_url, self._key = address_and_key(endpoint.base_url)
        self.server = server_name(self.base_url)
        self._dialect = _Dialect(temperature=temperature is not None)
        self._answered = self._is_there = False
        self._knocking = asyncio.Lock()
        self._pace = _Pace(endpoint.per_minute)

    async def __aenter__(self) -> Self:
        import openai

        # A server on this machine needs no certificates, and loading those of all authorities takes a while.
        local = is_plain_and_local(self.base_url)
        self._openai = openai.AsyncOpenAI(
            api_key=self._key or "no-key-is-needed",
            base_url=self.base_url,
            max_retries=self.endpoint.retries,
            timeout=self.endpoint.timeout_s,
            http_client=openai.DefaultAsyncHttpxClient(verify=_trusting_nobody()) if local else None,
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: "TracebackType | None"
    ) -> None:
        await self._openai.close()

    @property
    def refused(self) -> str:
        """What the server turned out to refuse, for the user; empty if nothing."""
        parts = ["a JSON schema"] if self._dialect.format else []
        if self.temperature is not None and not self._dialect.temperature:
            parts.append("a temperature (its own is used)")
        return " and ".join(parts)

    async def complete(self, messages: Sequence[Message]) -> Completion:
        """One answer; of several independent ones, each is asked for in the same way.

        Raises:
            RequestFailed: there is none, after all retries.
            InputError: the server knows neither key nor model nor address: no further question makes sense.
            InfraError: nothing answers at the address, or the account has no credit left.
        """
        await self._knock()
        found = _read(await self._request(messages))
        return replace(found, temperature=self.temperature if self._dialect.temperature else None)

    async def _knock(self) -> None:
        """See once, before the first question, that something listens at the address: a typo needs no retries.

        Raises:
            InfraError: nothing does.
        """
        import openai

        async with self._knocking:
            if self._is_there:
                return
            try:
                once: Any = {"max_retries": 0, "timeout": KNOCK_TIMEOUT_S}
                await self._openai.get("/models", cast_to=object, options=once)
            except openai.APIConnectionError as error:
                # By name: which HTTP library it comes from depends on the release of `openai`.
                if type(error.__cause__).__name__ == "ConnectError":
                    raise InfraError(
                        f"no server answers at {self.server} ({one_line(error.__cause__)[:200]})"
                    ) from error
            except (openai.OpenAIError, ValueError, TypeError, LookupError, RecursionError):
                pass  # whatever it says to this, it is there
            self._is_there = True

    async def _request(self, messages: Sequence[Message]) -> Any:
        """A completion, whatever the server made of it; asked in the fullest dialect that the server accepts."""
        import openai

        dialect = self._dialect
        while True:
            await self._pace.turn()
            try:
                # As it is, because nothing in it is taken for granted: models of its types would double the work.
                body = self._arguments(messages, dialect)
                completion = await self._openai.post("/chat/completions", cast_to=object, body=body)
            except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
                complaint = f"{error.param} {error.message}".lower()
                poorer = self._poorer(dialect, complaint)
                if poorer is None:
                    # Once others were answered, this question is at fault: a prompt too long, a filter of contents.
                    too_long = _is_about_length(complaint)
                    raise RequestFailed(
                        self._reason(error), reached=self._answered or too_long, too_long=too_long
                    ) from error
                dialect = poorer
            except openai.APIError as error:
                raise self._told(error) from error
            except (openai.OpenAIError, ValueError, TypeError, LookupError, RecursionError) as error:
                # What the client raises on a body that is not what it says it is.
                return f"{type(error).__name__}"
            else:
                self._dialect, self._answered = dialect, True
                return completion

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
        """The dialect to try after a 400, None if the request itself is at fault.

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

    def _told(self, error: "openai.APIError") -> Exception:
        """What a caller is told of an error that no other wording of the request mends."""
        import openai

        if isinstance(error, openai.AuthenticationError | openai.PermissionDeniedError | openai.NotFoundError):
            return InputError(self._hopeless(error))
        if error.code == "insufficient_quota":
            return InfraError(f"the account has no credit left: {self._reason(error)}")
        return RequestFailed(self._reason(error), reached=False)

    def _hopeless(self, error: "openai.APIStatusError") -> str:
        what = {
            401: "refuses the key; set OPENAI_API_KEY",
            403: "denies access; check OPENAI_API_KEY and what it may use",
            404: f"knows no model {self.endpoint.model!r}, or no such address (it often ends in /v1)",
        }[error.status_code]
        return f"the server {self.server} {what}: {self._reason(error)}"

    def _reason(self, error: "openai.APIError") -> str:
        """What the server said, in one line, and never with the key in it."""
        body = error.body if isinstance(error.body, dict) else {}
        text = str(body.get("message") or body.get("detail") or error.message)
        if self._key:
            text = text.replace(self._key, "***")
        status = getattr(error, "status_code", None)
        return one_line(f"HTTP {status}: {text}"[:2000] if status else text[:2000])[:300]


def _is_about_length(complaint: str) -> bool:
    names_limit = any(word in complaint for word in _LIMITS if word)
    return any(word in complaint for word in _LENGTH_WORDS) and not names_limit


def _read(completion: Any) -> Completion:
    usage = _get(completion, "usage")
    counts = _get(usage, "prompt_tokens"), _get(usage, "completion_tokens")
    tokens = (counts[0], counts[1]) if type(counts[0]) is int and type(counts[1]) is int else None
    choices = _get(completion, "choices")
    if not isinstance(choices, list) or not choices:
        return Completion("", NO_COMPLETION, tokens)
    reason = one_line(str(_get(choices[0], "finish_reason")))[:40]
    message = _get(choices[0], "message")
    content = _get(message, "content")
    problem = ""
    if _get(message, "refusal"):
        problem = REFUSED
    elif _get(message, "tool_calls"):
        problem = "the model called a tool instead of answering"
    elif not isinstance(content, str) or not content.strip():
        problem = CUT if reason == "length" else f"it is empty (finish_reason {reason})"
    return Completion("" if problem else str(content), problem, tokens, reason)


def _get(value: Any, name: str) -> Any:
    """What an object of an answer has under a name; None if it is no object."""
    return value.get(name) if isinstance(value, dict) else None


def _trusting_nobody() -> ssl.SSLContext:
    """For addresses without TLS: should one lead to a server that has it, that one is refused."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


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
