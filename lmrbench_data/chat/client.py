"""Ask a model over any OpenAI-compatible server, with the parameters that the server accepts.

The `openai` client sends, times out, waits and retries: on connection errors, 408, 409, 429, 5xx and replies without a
completion, with backoff or after the server's Retry-After of up to two minutes. A server whose refusal names
`response_format`, `temperature` or the role `system`, or expects another name for the token limit, is asked without it.
Other refusals are repeated if they may pass, and end by their `Cause`.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from ..base.errors import ArgumentError, InfraError, InputError
from ..base.text import one_line
from .budget import Budget, Tokens, read_tokens
from .dialect import Message, Options, all_options, request_body, without_refused
from .endpoint import Endpoint
from .refusals import LIMITS, Cause, Refusal
from .server import REASON, address_and_key, connect, first_choice, get, json_of, server_name

if TYPE_CHECKING:
    import openai

__all__ = ["ChatClient", "Completion", "Message", "RequestFailed"]

_log = logging.getLogger(__name__)
CUT = "it was cut at max_tokens (finish_reason length)"
FILTERED = "content_filter"
#: Characters per token, for an estimate without a tokenizer; tokens of code are shorter than those of prose.
CHARACTERS_PER_TOKEN = 3.5
#: Repetitions of a request that is refused for no known cause, and the first pause in seconds.
_REPEATS, _PAUSE_S = 2, 0.5
#: A prompt of which the server counts less than this share of the estimate was cut; short ones are not looked at.
_LEAST_READ, _MIN_ESTIMATE = 0.5, 2000


class RequestFailed(Exception):
    """A request that failed after all retries; if the server was not reached, others will probably fail too.

    Attributes:
        cause: why the server refused it; None if it gave no reason.
        is_billed: whether the server may have billed it.
    """

    def __init__(self, message: str, *, reached: bool, cause: Cause | None = None, is_billed: bool = False) -> None:
        super().__init__(message)
        self.reached, self.cause, self.is_billed = reached, cause, is_billed


@dataclass(frozen=True)
class Completion:
    """One reply of a model; None stands for what the server does not report or take."""

    text: str
    problem: str = ""
    """The reason for a missing text: a refusal, or no content."""
    tokens: Tokens | None = None
    cost_usd: float | None = None
    finish_reason: str = ""
    temperature: float | None = None
    has_system_role: bool = True
    """False if the system text was part of the user's first message."""
    cut_by_server: str = ""
    """The numbers of tokens sent and read, if the server read far fewer."""


class ChatClient:
    """A connection to a model, whose answers may have a JSON schema; use as an asynchronous context manager.

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
        self.endpoint = endpoint
        self._options = all_options(temperature, endpoint.max_tokens, schema_name, schema)
        self._url, self._key = address_and_key(endpoint.base_url)
        self.server = server_name(self._url)
        self.budget = Budget()  # without a limit, unless it is replaced
        self._is_reachable = self._has_answered = False
        self.answers_others = False
        """Whether the server is known to answer this model's requests, so that a filter refuses a prompt, not us."""
        self._warned: set[str] = set()

    async def __aenter__(self) -> Self:
        timeout_s, retries = self.endpoint.timeout_s, self.endpoint.retries
        self._openai = connect(self._url, self._key, timeout_s=timeout_s, retries=retries, budget=self.budget)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._openai.close()

    async def complete(self, messages: Sequence[Message]) -> Completion:
        """Ask for one answer.

        Raises:
            RequestFailed: all tries failed.
            CostLimit: the budget allows no more requests.
            InputError: the server rejects the key, the model, the address, the token limit or a parameter of `body`.
            InfraError: no server answers at the address, or the account has no credit left.
        """
        import httpx2
        import openai

        options, repeats = self._options, min(self.endpoint.retries, _REPEATS)
        while True:
            body = {**self.endpoint.body, "model": self.endpoint.model, **request_body(messages, options)}
            try:
                response = await self._openai.post("/chat/completions", cast_to=httpx2.Response, body=body)
            except openai.APIConnectionError as error:
                raise self._no_answer(error) from error
            except openai.APIStatusError as error:
                self._is_reachable = True
                refusal = Refusal.of(json_of(error.response) or error.response.text)
                cause = self.cause(error.status_code, refusal)
                if fewer := without_refused(options, refusal, cause):
                    options = fewer
                elif cause is Cause.FILTER and self.answers_others:
                    problem, none = f"refused ({FILTERED}): {self.clean(refusal.message)}", Tokens(0, 0)
                    return Completion("", problem, none, self.budget.add(none), FILTERED, options["temperature"])
                elif cause is Cause.UNKNOWN and repeats:
                    await asyncio.sleep(_PAUSE_S * 2 ** (_REPEATS - repeats))
                    repeats -= 1
                else:
                    raise self.failure(error, refusal, cause) from error
            else:
                self._is_reachable = True
                reply = json_of(response)
                if first_choice(reply) is None:
                    self.budget.add(None)
                    message = "the server sends a stream, although stream is false"
                    raise RequestFailed(message, reached=False, is_billed=True)
                self._has_answered = self.answers_others = True
                if refused := [name for name, old in self._options.items() if old not in (None, options[name])]:
                    self._options = options
                    self._warn("refused", f"the server does not accept {' and '.join(refused)}")
                return self._read(reply, messages, options)

    def _read(self, reply: Any, messages: Sequence[Message], options: Options) -> Completion:
        """Read the JSON value of a reply, and count its cost."""
        tokens, choice = read_tokens(get(reply, "usage")), first_choice(reply)
        reason = one_line(str(get(choice, "finish_reason")))[:40]
        message = get(choice, "message")
        text, problem = _text(get(message, "content")), ""
        if get(message, "refusal"):
            problem = "the model refused to answer"
        elif not text.strip():
            problem = CUT if reason == "length" else f"it is empty (finish_reason {reason})"
            if place := next((name for name in ("reasoning_content", "reasoning") if _text(get(message, name))), ""):
                problem += f"; the text came as reasoning (in {place}): check the server's reasoning parser"
                self._warn("reasoning", f"an answer has no text: {problem}")
        text, cost = "" if problem else text, self.budget.add(tokens)
        cut = self._compare(tokens, messages, options) if tokens else ""
        return Completion(text, problem, tokens, cost, reason, options["temperature"], options["system"], cut)

    def _compare(self, tokens: Tokens, messages: Sequence[Message], options: Options) -> str:
        """Compare the counted tokens with what was sent; return the numbers if the server read far fewer."""
        limit, name = self.endpoint.max_tokens, next((name for name in LIMITS if options[name]), "")
        if limit and tokens.answer > limit + max(16, limit // 10):
            instead = f"; {LIMITS[1]} is sent instead" if name == LIMITS[0] else ""
            self._warn(name, f"the server ignores {name} ({tokens.answer:,} tokens, not {limit:,}){instead}")
            self._options = {**self._options, LIMITS[0]: None, LIMITS[1]: limit}
        sent = round(sum(len(message["content"]) for message in messages) / CHARACTERS_PER_TOKEN)
        if sent < _MIN_ESTIMATE or tokens.question >= sent * _LEAST_READ:
            return ""
        cut = f"about {sent:,} tokens sent, {tokens.question:,} read"
        self._warn("cut", f"the server seems to cut prompts ({cut}); raise the context length that it runs with")
        return cut

    def _warn(self, kind: str, message: str) -> None:
        """Log a warning, once of each kind."""
        if kind not in self._warned:
            self._warned.add(kind)
            _log.warning("%s: %s", self.endpoint.model, message)

    def cause(self, status: int, refusal: Refusal) -> Cause | None:
        """Return the cause of a refusal; None if its status says all."""
        if status in (402, 413):
            return Cause.CREDIT if status == 402 else Cause.LENGTH
        cause = refusal.cause(self.endpoint.max_tokens) if status in (400, 403, 422) else None
        return None if status == 403 and cause not in (Cause.CREDIT, Cause.FILTER) else cause

    def clean(self, message: str) -> str:
        """Return a message of the server in one line, without the key."""
        return one_line(message.replace(self._key, "***") if self._key else message)[:300]

    def failure(self, error: "openai.APIStatusError", refusal: Refusal, cause: Cause | None) -> Exception:
        """Return the exception for an error that neither retries nor other parameters fix."""
        status, reason = error.status_code, error.response.extensions.get(REASON)
        message = self.clean(reason or f"HTTP {status}: {refusal.message}")
        if cause is Cause.CREDIT:
            return InfraError(f"the account has no credit left: {message}")
        if cause is Cause.LIMIT:
            limit = self.endpoint.max_tokens
            return ArgumentError("max_tokens", f"the server {self.server} does not take {limit}: {message}")
        model = f"the model {self.endpoint.model!r}"
        hint = {
            302: "does not answer",
            401: "refuses the key; set OPENAI_API_KEY",
            403: "denies access; check OPENAI_API_KEY and its permissions",
            404: f"does not know {model} or the address (it often ends in /v1)",
            405: "has no models at this address (it often ends in /v1)",
        }.get(status if cause is None else 0)
        if cause is Cause.ACCESS and not self._has_answered:
            hint = f"refuses {model} or the key in OPENAI_API_KEY"
        if hint:
            return InputError(f"the server {self.server} {hint}: {message}")
        # If others were answered, a refused request is at fault itself.
        is_reached = cause is Cause.LENGTH or (cause is not None and self._has_answered)
        return RequestFailed(message, reached=is_reached, cause=cause)

    def _no_answer(self, error: Exception) -> Exception:
        import httpx2
        import openai

        cause = error.__cause__ or error
        reason = one_line(f"{type(cause).__name__}: {cause}".removesuffix(": "))[:200]
        if isinstance(error, openai.APITimeoutError):
            reason = f"no answer within {self.endpoint.timeout_s:g} s"
        elif not self._is_reachable:
            return InfraError(f"no server answers at {self.server} ({reason})")
        return RequestFailed(reason, reached=False, is_billed=isinstance(cause, httpx2.ReadTimeout))


def _text(content: Any) -> str:
    """Return the text of a message: a string, or a list of parts of which some are text."""
    if isinstance(content, list):
        content = "".join(str(get(part, "text") or "") for part in content if get(part, "type") == "text")
    return content if isinstance(content, str) else ""
