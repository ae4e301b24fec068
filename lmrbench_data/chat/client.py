"""Ask a model over any OpenAI-compatible server, with the parameters that the server accepts.

Connection errors, 408, 409, 429, most 5xx and replies without a completion are retried, with backoff or after the
server's Retry-After of up to two minutes. The `Cause` of a refusal decides what follows it.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from ..base.errors import ArgumentError, InfraError, InputError
from ..base.finish_reasons import Ending, ending, is_token_limit
from ..base.text import one_line
from .budget import Budget, CostLimitError, Tokens
from .endpoint import Endpoint
from .refusals import LIMITS, Cause, cause_of, get, without_refused
from .reply import Reply
from .server import Connection, address_and_key, server_name

_log = logging.getLogger(__name__)
Message = dict[str, str]
CUT = "it was cut at max_tokens (finish_reason length)"
FILTERED = "content_filter"
#: Characters per token, for an estimate without a tokenizer; tokens of code are shorter than those of prose.
CHARACTERS_PER_TOKEN = 3.5
_REPEATS = 2  # of a request that is refused for no known cause
#: A prompt of which the server counts less than this share of the estimate was cut; short ones are not looked at.
_LEAST_READ, _MIN_ESTIMATE = 0.5, 2000


class RequestError(Exception):
    """A request that failed after all retries; if the server was not reached, others will probably fail too."""

    def __init__(
        self, message: str, *, reached: bool, cause: Cause | None = None, is_billed: bool = False
    ) -> None:
        super().__init__(message)
        self.reached, self.cause, self.is_billed = reached, cause, is_billed


@dataclass(frozen=True)
class Completion:
    """One reply of a model, or the problem that takes its place; None for what the server does not report or take."""

    text: str
    problem: str = ""
    tokens: Tokens | None = None
    cost_usd: float | None = None
    finish_reason: str = ""
    temperature: float | None = None
    has_system_role: bool = True  # false if the system's text began the user's message
    cut_by_server: str = ""  # the numbers of tokens sent and read, if the server read far fewer
    tool: str = ""  # the name of the tool that the model called, although none is offered


class ChatClient:
    """A connection to a model; use as an asynchronous context manager. InputError for a wrong address or key."""

    def __init__(
        self, endpoint: Endpoint, temperature: float | None = None, response_format: Any = None
    ) -> None:
        self.endpoint = endpoint
        # None for those left out; `system` is about its role; and some gateways stream unless they are told not to.
        parameters = {
            "response_format": response_format,
            "temperature": temperature,
            "stream": False,
            "system": True,
        }
        self._options: Mapping[str, Any] = {
            **parameters,
            LIMITS[0]: endpoint.max_tokens,
            LIMITS[1]: None,
        }
        self._url, self._key = address_and_key(endpoint.base_url)
        self.server = server_name(self._url)
        self.budget = Budget()  # without a limit, unless it is replaced
        self._is_reachable = self.answers_others = (
            False  # if it answers others, a refused request is at fault itself
        )
        self._warned: set[str] = set()

    async def __aenter__(self) -> Self:
        self._connection = Connection(self._url, self._key, self.endpoint.timeout_s)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._connection.close()

    async def complete(self, messages: Sequence[Message]) -> Completion:
        """Ask for one answer.

        Raises:
            RequestError: all tries failed.
            CostLimitError: the budget allows no more requests.
            InputError, InfraError: others would fail the same way: a key, a model, a limit, an address, no credit.
        """
        options = started = self._options
        tries: Counter[Cause | None] = Counter()
        while True:
            reply = await self._send(messages, options)
            cost = self.budget.add(reply.tokens) if reply.is_billed else None
            if not reply.problem:
                self._learn(options, started)
                return self._completion(reply, cost, messages, options)
            cause = self.cause(reply)
            fewer = without_refused(options, reply.refusal, cause)
            if fewer:
                options = fewer  # at most once for each option
            elif tries[cause] < self._most_tries(reply, cause):
                await asyncio.sleep(reply.pause_s(tries[cause]))
                tries[cause] += 1
            elif cause is Cause.FILTER and self.answers_others:
                return self._filtered(reply, options)
            else:
                raise self.failure(reply, cause)

    async def _send(self, messages: Sequence[Message], options: Mapping[str, Any]) -> Reply:
        """Send a request once; CostLimitError if the budget forbids it."""
        if why := self.budget.why:
            raise CostLimitError(why)
        body = {**self.endpoint.body, "model": self.endpoint.model, **_body(messages, options)}
        reply = await self._connection.send(body)
        self._is_reachable = self._is_reachable or reply.status > 0
        return reply

    def _most_tries(self, reply: Reply, cause: Cause | None) -> int:
        """Return how often a request with this problem is repeated at most."""
        if cause is Cause.UNKNOWN:
            return min(self.endpoint.retries, _REPEATS)
        return self.endpoint.retries if cause is None and reply.is_passing else 0

    def _filtered(self, reply: Reply, options: Mapping[str, Any]) -> Completion:
        """Return the refusal of a content filter as an answer without tokens."""
        nothing = Tokens(0, 0)
        problem = f"refused ({FILTERED}): {self.clean(reply.refusal.message)}"
        return Completion(
            "", problem, nothing, self.budget.add(nothing), FILTERED, options["temperature"]
        )

    def _learn(self, options: Mapping[str, Any], started: Mapping[str, Any]) -> None:
        """Note which options the server accepts."""
        changes = {name: value for name, value in options.items() if value != started[name]}
        if changes:
            self._options = {**self._options, **changes}
            refused = " and ".join(name for name in changes if started[name] is not None)
            self._warn("refused", f"the server does not accept {refused}")

    def _completion(
        self,
        reply: Reply,
        cost: float | None,
        messages: Sequence[Message],
        options: Mapping[str, Any],
    ) -> Completion:
        """Read an answer."""
        choice = get(reply.body, "choices", 0)
        if choice is None:
            raise RequestError(
                "the server sends a stream, although stream is false", reached=False, is_billed=True
            )
        self.answers_others = True
        message = get(choice, "message")
        reason = one_line(get(choice, "finish_reason"))[:40]
        tool = _tool(message)
        text = _text(get(message, "content"))
        problem = self._problem(message, text, reason, tool)
        return Completion(
            text="" if problem else text,
            problem=problem,
            tokens=reply.tokens,
            cost_usd=cost,
            finish_reason=reason,
            temperature=options["temperature"],
            has_system_role=options["system"],
            cut_by_server=self._compare(reply.tokens, messages, options) if reply.tokens else "",
            tool=tool,
        )

    def _problem(self, message: Any, text: str, reason: str, tool: str) -> str:
        """Return why a message is no answer; empty if it is one. Problems of the server's settings are warned of."""
        if tool:
            fix = "check the server's tool parser, or choose a model that answers in text"
            self._warn("tool", f"it calls tools that the request does not offer ({tool}); {fix}")
        if get(message, "refusal"):
            return "the model refused to answer"
        if text.strip():
            return ""
        problem = (
            tool_problem(tool)
            if tool
            else cut_problem(reason) or f"it is empty (finish_reason {reason})"
        )
        for name in ("reasoning_content", "reasoning"):
            if _text(get(message, name)):
                problem += (
                    f"; the text came as reasoning (in {name}): check the server's reasoning parser"
                )
                self._warn("reasoning", f"an answer has no text: {problem}")
                break
        return problem

    def _compare(
        self, tokens: Tokens, messages: Sequence[Message], options: Mapping[str, Any]
    ) -> str:
        """Compare the counted tokens with what was sent; return the numbers if the server read far fewer."""
        name = next((name for name in LIMITS if options[name]), "")
        if self.is_limit_ignored(tokens, name, self.endpoint.max_tokens):
            self._options = {**self._options, LIMITS[0]: None, LIMITS[1]: self.endpoint.max_tokens}
        sent = round(sum(len(message["content"]) for message in messages) / CHARACTERS_PER_TOKEN)
        if sent < _MIN_ESTIMATE or tokens.question >= sent * _LEAST_READ:
            return ""
        cut = f"about {sent:,} tokens sent, {tokens.question:,} read"
        self._warn(
            "cut",
            f"the server seems to cut prompts ({cut}); raise the context length that it runs with",
        )
        return cut

    def is_limit_ignored(self, tokens: Tokens, name: str, limit: int | None) -> bool:
        """Return whether an answer is longer than the limit that was sent by this name; the first is a warning."""
        if not limit or tokens.answer <= limit + max(16, limit // 10):
            return False
        instead = f"; {LIMITS[1]} is sent instead" if name == LIMITS[0] else ""
        self._warn(
            name, f"the server ignores {name} ({tokens.answer:,} tokens, not {limit:,}){instead}"
        )
        return True

    def _warn(self, kind: str, message: str) -> None:
        if kind not in self._warned:  # once of each kind
            self._warned.add(kind)
            _log.warning("%s: %s", self.endpoint.model, message)

    def cause(self, reply: Reply) -> Cause | None:
        """Return the cause of a refusal; None if its status says all."""
        return cause_of(reply.status, reply.refusal, self.endpoint.max_tokens)

    def clean(self, message: str) -> str:
        """Return a message of the server in one line, without the key."""
        return one_line(message.replace(self._key, "***") if self._key else message)[:300]

    def failure(self, reply: Reply, cause: Cause | None) -> Exception:
        """Return the exception for a problem that neither retries nor other parameters fix."""
        message = self.clean(reply.problem)
        server = f"the server {self.server}"
        if not (reply.status or reply.is_billed or self._is_reachable):
            return InfraError(f"no server answers at {self.server} ({message})")
        if cause is Cause.CREDIT:
            return InfraError(f"the account has no credit left: {message}")
        if cause is Cause.LIMIT:
            return ArgumentError(
                "max_tokens", f"{server} does not take {self.endpoint.max_tokens}: {message}"
            )
        hints = {
            Cause.ACCESS: f"refuses the model {self.endpoint.model!r} or the key in OPENAI_API_KEY",
            302: "does not answer",
            401: "refuses the key; set OPENAI_API_KEY",
            403: "denies access; check OPENAI_API_KEY and its permissions",
            404: f"does not know the model {self.endpoint.model!r} or the address (it often ends in /v1)",
            405: "does not know the address (it often ends in /v1)",
        }
        if hint := hints.get(cause or reply.status):
            return InputError(f"{server} {hint}: {message}")
        is_reached = cause is Cause.LENGTH or (cause is not None and self.answers_others)
        return RequestError(message, reached=is_reached, cause=cause, is_billed=reply.is_billed)


def cut_problem(reason: str) -> str:
    """Return the problem of an answer that ended for this reason; empty if it was not cut off."""
    if is_token_limit(reason):
        return CUT.replace("length", reason)
    return f"it was cut off (finish_reason {reason})" if ending(reason) is Ending.CUT else ""


def tool_problem(tool: str) -> str:
    """Return the problem of an answer that is a call of this tool."""
    return f"the model called a tool ({tool}) instead of answering"


def _tool(message: Any) -> str:
    """Return the name of the first tool that a message calls; empty if it calls none."""
    call = get(message, "tool_calls", 0) or get(message, "function_call")
    return (
        one_line(get(call, "function", "name") or get(call, "name") or "unnamed")[:80]
        if call
        else ""
    )


def _body(messages: Sequence[Message], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the messages and parameters to send; without the role `system`, its text begins the user's message."""
    if not options["system"]:
        texts = [message["content"] for message in messages if message["role"] == "system"]
        first, *rest = [message for message in messages if message["role"] != "system"]
        messages = [{**first, "content": "\n\n".join([*texts, first["content"]])}, *rest]
    body = {
        name: value for name, value in options.items() if value is not None and name != "system"
    }
    return {"messages": list(messages), **body}


def _text(content: Any) -> str:
    """Return the text of a message: a string, or a list of parts of which some are text."""
    if isinstance(content, list):
        content = "".join(
            str(get(part, "text") or "") for part in content if get(part, "type") == "text"
        )
    return content if isinstance(content, str) else ""
