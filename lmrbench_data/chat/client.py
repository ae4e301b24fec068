"""Ask a model over any OpenAI-compatible server, with the parameters that the server accepts.

The `openai` client sends, times out, waits and retries: on connection errors, 408, 409, 429, 5xx and replies without a
completion, with backoff or after the server's Retry-After of up to two minutes. A server that refuses
`response_format`, `temperature` or the role `system`, or expects another name for the token limit, is asked without it.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from ..base.errors import InfraError, InputError
from ..base.text import one_line
from .budget import Budget, CostLimit, Tokens, read_tokens
from .dialect import Message, Options, all_options, is_about_length, request_body, without_refused
from .endpoint import Endpoint
from .server import REASON, address_and_key, connect, first_choice, get, json_of, server_name

if TYPE_CHECKING:
    import openai

__all__ = ["ChatClient", "Completion", "Message", "RequestFailed"]

_log = logging.getLogger(__name__)
CUT = "it was cut at max_tokens (finish_reason length)"


class RequestFailed(Exception):
    """A request that failed after all retries; if the server was not reached, others will probably fail too."""

    def __init__(self, message: str, *, reached: bool, too_long: bool = False) -> None:
        super().__init__(message)
        self.reached, self.too_long = reached, too_long


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

    async def __aenter__(self) -> Self:
        self._openai = connect(self._url, self._key, timeout_s=self.endpoint.timeout_s, retries=self.endpoint.retries)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._openai.close()

    async def complete(self, messages: Sequence[Message]) -> Completion:
        """Ask for one answer.

        Raises:
            RequestFailed: all tries failed.
            CostLimit: the budget allows no more requests.
            InputError: the server rejects the key, the model or the address.
            InfraError: no server answers at the address, or the account has no credit left.
        """
        import httpx2
        import openai

        options = self._options
        while True:
            if why := self.budget.why:
                raise CostLimit(why)
            body = {"model": self.endpoint.model, **request_body(messages, options)}
            try:
                response = await self._openai.post("/chat/completions", cast_to=httpx2.Response, body=body)
            except openai.APIConnectionError as error:
                raise self._no_answer(error) from error
            except openai.APIStatusError as error:
                self._is_reachable = True
                complaint = f"{error.param} {_message(error)}".lower()
                fewer = without_refused(options, complaint) if error.status_code in (400, 422) else None
                if fewer is None:
                    raise self._failure(error, complaint) from error
                options = fewer
            else:
                self._is_reachable = self._has_answered = True
                if refused := [name for name, old in self._options.items() if old not in (None, options[name])]:
                    _log.warning("%s: the server does not accept %s", self.endpoint.model, " and ".join(refused))
                    self._options = options
                return self._read(json_of(response), options)

    def _read(self, reply: Any, options: Options) -> Completion:
        """Read the JSON value of a reply, and count its cost."""
        tokens, choice = read_tokens(get(reply, "usage")), first_choice(reply)
        reason = one_line(str(get(choice, "finish_reason")))[:40]
        message = get(choice, "message")
        text, problem = _text(get(message, "content")), ""
        if get(message, "refusal"):
            problem = "the model refused to answer"
        elif not text.strip():
            problem = CUT if reason == "length" else f"it is empty (finish_reason {reason})"
        text, cost = "" if problem else text, self.budget.add(tokens)
        return Completion(text, problem, tokens, cost, reason, options["temperature"], options["system"])

    def _failure(self, error: "openai.APIStatusError", complaint: str) -> Exception:
        """Return the exception for an error that neither retries nor other parameters fix."""
        status, reason = error.status_code, error.response.extensions.get(REASON)
        message = reason or f"HTTP {status}: {_message(error)}"
        message = one_line(message.replace(self._key, "***") if self._key else message)[:300]
        hint = {
            302: "does not answer",
            401: "refuses the key; set OPENAI_API_KEY",
            403: "denies access; check OPENAI_API_KEY and its permissions",
            404: f"does not know the model {self.endpoint.model!r} or the address (it often ends in /v1)",
            405: "has no models at this address (it often ends in /v1)",
        }.get(status)
        if hint:
            return InputError(f"the server {self.server} {hint}: {message}")
        if status == 402:
            return InfraError(f"the account has no credit left: {message}")
        # If others were answered, a refused request is at fault itself: its prompt is too long or was filtered.
        is_refused = status in (400, 422)
        too_long = is_refused and is_about_length(complaint)
        return RequestFailed(message, reached=too_long or (is_refused and self._has_answered), too_long=too_long)

    def _no_answer(self, error: Exception) -> Exception:
        import openai

        cause = error.__cause__ or error
        reason = one_line(f"{type(cause).__name__}: {cause}".removesuffix(": "))[:200]
        if isinstance(error, openai.APITimeoutError):
            reason = f"no answer within {self.endpoint.timeout_s:g} s"
        elif not self._is_reachable:
            return InfraError(f"no server answers at {self.server} ({reason})")
        return RequestFailed(reason, reached=False)


def _message(error: "openai.APIStatusError") -> str:
    """Return the server's message, whatever form its error has."""
    return str(get(error.body, "message") or get(error.body, "detail") or error.body or error.response.text)[:2000]


def _text(content: Any) -> str:
    """Return the text of a message: a string, or a list of parts of which some are text."""
    if isinstance(content, list):
        content = "".join(str(get(part, "text") or "") for part in content if get(part, "type") == "text")
    return content if isinstance(content, str) else ""
