"""Ask a judge model over any OpenAI-compatible endpoint, with what the server at hand accepts.

The `openai` client retries what can pass (connection, 408, 409, 429, 5xx) with backoff and honours Retry-After. Here a
server that refuses `response_format` or `temperature` is asked without, and an answer that cannot be read once more.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ...errors import InfraError, InputError
from .address import address_and_key, server_name
from .parse import Opinion, Unreadable, parse_reply, plain
from .prompt import SCHEMA, Message, repair_message

if TYPE_CHECKING:
    from types import TracebackType

    import openai

#: How often a model is asked until its answer can be read.
ATTEMPTS = 3
#: Of all votes, so that how far they agree means something: at 0 they would repeat the first.
TEMPERATURE = 0.7
NO_COMPLETION = "the server's answer is not a chat completion"
CUT = "it was cut at max_tokens (finish_reason length)"
#: Of an answer that could not be read, what is shown to its author.
_MAX_ECHO = 8000

_FORMATS: tuple[dict[str, Any] | None, ...] = (
    {"type": "json_schema", "json_schema": {"name": "judgement", "strict": True, "schema": SCHEMA}},
    {"type": "json_object"},
    None,
)
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
class Reply:
    """What came of asking: an opinion, or the reason why there is none."""

    opinion: Opinion | None
    error: str = ""
    tokens: tuple[int, int] = (0, 0)
    """Of questions and of answers, all attempts together."""
    reached: bool = True
    """False if the server gave no answer at all, so that others will hardly fare better."""
    counted: bool = True
    """False if the server did not say how many tokens an answer took."""
    temperature: float | None = None
    """None if the server's own was used."""
    too_long: bool = False
    """The server says that it cannot take so long a question."""


@dataclass(frozen=True)
class _Dialect:
    """What a server accepts, as far as we know; it starts with everything."""

    format: int = 0
    temperature: bool = True
    limit: int = 0


class _Failed(Exception):
    """A request that has no answer, after all retries."""

    def __init__(self, message: str, *, reached: bool, too_long: bool = False) -> None:
        super().__init__(message)
        self.reached, self.too_long = reached, too_long


class JudgeClient:
    """A connection to a judge model; use as an asynchronous context manager.

    Raises:
        InputError: no key, or a malformed address, said before anything is sent.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self.base_url, self._key = address_and_key(endpoint.base_url)
        self.server = server_name(self.base_url)
        self._dialect = _Dialect()
        self._answered = False
        self._pace = _Pace(endpoint.per_minute)

    async def __aenter__(self) -> "JudgeClient":
        import openai

        self._openai = openai.AsyncOpenAI(
            api_key=self._key or "no-key-is-needed",
            base_url=self.base_url,
            max_retries=self.endpoint.retries,
            timeout=self.endpoint.timeout_s,
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
        parts += [] if self._dialect.temperature else ["a temperature (its own is used)"]
        return " and ".join(parts)

    async def ask(self, messages: Sequence[Message]) -> Reply:
        """The opinion of the model; of several independent answers, each is asked for in the same way.

        Raises:
            InputError: the server knows neither key nor model nor address: no further question makes sense.
            InfraError: the account has no credit left.
        """
        asked = list(messages)
        reply, reason = Reply(None, reached=False), ""
        for _ in range(ATTEMPTS):
            try:
                completion = await self._request(asked)
            except _Failed as error:
                return replace(reply, error=str(error), reached=error.reached, too_long=error.too_long)
            text, problem, usage = _read(completion)
            reply = replace(
                reply,
                tokens=(reply.tokens[0] + (usage or (0, 0))[0], reply.tokens[1] + (usage or (0, 0))[1]),
                counted=reply.counted and (usage is not None or problem == NO_COMPLETION),
                reached=reply.reached or problem != NO_COMPLETION,
                temperature=TEMPERATURE if self._dialect.temperature else None,
            )
            if problem is None:
                try:
                    return replace(reply, opinion=parse_reply(text))
                except Unreadable as error:
                    problem = CUT if _finish_reason(completion) == "length" else str(error)
            reason = problem
            echo = {"role": "assistant", "content": text[:_MAX_ECHO]}
            asked = [*messages, echo, repair_message(problem)] if text.strip() else list(messages)
        return replace(reply, error=f"no readable answer in {ATTEMPTS} attempts: {reason}")

    async def _request(self, messages: Sequence[Message]) -> Any:
        """A completion, whatever the server made of it; asked in the fullest dialect that the server accepts."""
        import openai

        dialect = self._dialect
        while True:
            await self._pace.turn()
            try:
                completion = await self._openai.chat.completions.create(**self._arguments(messages, dialect))
            except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
                complaint = f"{error.param} {error.message}".lower()
                poorer = _poorer(dialect, complaint, self.endpoint.max_tokens is not None)
                if poorer is None:
                    # Once others were answered, this question is at fault: a prompt too long, a filter of contents.
                    too_long = _is_about_length(complaint)
                    raise _Failed(self._reason(error), reached=self._answered or too_long, too_long=too_long) from error
                dialect = poorer
            except (openai.AuthenticationError, openai.PermissionDeniedError, openai.NotFoundError) as error:
                raise InputError(self._hopeless(error)) from error
            except openai.APIError as error:
                if error.code == "insufficient_quota":
                    raise InfraError(f"the judge's account has no credit left: {self._reason(error)}") from error
                raise _Failed(self._reason(error), reached=False) from error
            except (openai.OpenAIError, ValueError, TypeError, LookupError, RecursionError) as error:
                # What the client raises on a body that is not what it says it is.
                return f"{type(error).__name__}"
            else:
                self._dialect, self._answered = dialect, True
                return completion

    def _arguments(self, messages: Sequence[Message], dialect: _Dialect) -> dict[str, Any]:
        arguments: dict[str, Any] = {"model": self.endpoint.model, "messages": list(messages)}
        if (form := _FORMATS[dialect.format]) is not None:
            arguments["response_format"] = form
        if dialect.temperature:
            arguments["temperature"] = TEMPERATURE
        if self.endpoint.max_tokens is not None and (name := _LIMITS[dialect.limit]):
            arguments[name] = self.endpoint.max_tokens
        return arguments

    def _hopeless(self, error: "openai.APIStatusError") -> str:
        what = {
            401: "refuses the key; set OPENAI_API_KEY",
            403: "denies access; check OPENAI_API_KEY and what it may use",
            404: f"knows no model {self.endpoint.model!r}, or no such address (it often ends in /v1)",
        }[error.status_code]
        return f"the judge's server {self.server} {what}: {self._reason(error)}"

    def _reason(self, error: "openai.APIError") -> str:
        """What the server said, in one line, and never with the key in it."""
        body = error.body if isinstance(error.body, dict) else {}
        text = str(body.get("message") or body.get("detail") or error.message)
        if self._key:
            text = text.replace(self._key, "***")
        status = getattr(error, "status_code", None)
        return plain(f"HTTP {status}: {text}" if status else text)[:300]


def _poorer(dialect: _Dialect, complaint: str, limited: bool) -> _Dialect | None:
    """The dialect to try after a 400, None if the request itself is at fault.

    Args:
        complaint: what the server said, in lower case.
        limited: a limit of tokens is sent.
    """
    if _is_about_length(complaint):
        return None
    named_format = any(word in complaint for word in _FORMAT_WORDS)
    if dialect.temperature and "temperature" in complaint:
        return replace(dialect, temperature=False)
    if limited and _LIMITS[dialect.limit] and any(word in complaint for word in _LIMITS if word):
        return replace(dialect, limit=dialect.limit + 1)
    if dialect.format < len(_FORMATS) - 1:
        # One that names nothing is first asked without any format: most servers that refuse one refuse both.
        return replace(dialect, format=dialect.format + 1 if named_format else len(_FORMATS) - 1)
    return replace(dialect, temperature=False) if dialect.temperature else None


def _is_about_length(complaint: str) -> bool:
    names_limit = any(word in complaint for word in _LIMITS if word)
    return any(word in complaint for word in _LENGTH_WORDS) and not names_limit


def _read(completion: Any) -> tuple[str, str | None, tuple[int, int] | None]:
    """(text, what is wrong with it, tokens) of a completion, of which nothing is taken for granted."""
    usage = getattr(completion, "usage", None)
    counts = getattr(usage, "prompt_tokens", None), getattr(usage, "completion_tokens", None)
    tokens = (counts[0], counts[1]) if type(counts[0]) is int and type(counts[1]) is int else None
    choices = getattr(completion, "choices", None)
    if not isinstance(choices, list) or not choices:
        return "", NO_COMPLETION, tokens
    message = getattr(choices[0], "message", None)
    content, reason = getattr(message, "content", None), _finish_reason(completion)
    if getattr(message, "refusal", None):
        return "", "the model refused to answer", tokens
    if getattr(message, "tool_calls", None):
        return "", "the model called a tool instead of answering", tokens
    if not isinstance(content, str) or not content.strip():
        return "", CUT if reason == "length" else f"it is empty (finish_reason {plain(str(reason))[:40]})", tokens
    return content, None, tokens


def _finish_reason(completion: Any) -> Any:
    """Why a completion with choices ended."""
    return getattr(completion.choices[0], "finish_reason", None)


class _Pace:
    """Spaces requests evenly."""

    def __init__(self, per_minute: float | None) -> None:
        self._interval = 60 / per_minute if per_minute else 0.0
        self._next = 0.0

    async def turn(self) -> None:
        """Wait until the next request may start."""
        now = asyncio.get_running_loop().time()
        start = max(now, self._next)
        self._next = start + self._interval
        await asyncio.sleep(start - now)
