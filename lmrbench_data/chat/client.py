"""Ask a model over any OpenAI-compatible server, with the parameters that the server accepts.

Connection errors, 408, 409, 429, most 5xx and replies without a completion are retried, with
backoff or after the server's Retry-After of up to two minutes. The `Cause` of a refusal decides
what follows it.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from ..base.errors import ArgumentError, InfraError, InputError, LMRBenchError
from ..base.text import one_line
from .budget import Budget, CostLimitError, Tokens
from .endpoint import Endpoint
from .finish_reasons import Ending, ending, is_token_limit
from .refusals import NEW_LIMIT, OLD_LIMIT, Cause, Options, cause_of, get, without_refused
from .reply import Reply
from .server import Connection, address_and_key, key_variable, server_name

_log = logging.getLogger(__name__)
Message = dict[str, str]
FILTERED = "content_filter"
#: Characters per token, for an estimate without a tokenizer; tokens of code are shorter than prose.
CHARACTERS_PER_TOKEN = 3.5
#: Retries of a request that is refused for no known cause.
_RETRIES_UNKNOWN = 2
#: A prompt was cut if the server counts less than this share of its estimated tokens.
_LEAST_READ = 0.5
#: Prompts with fewer estimated tokens are not compared.
_MIN_ESTIMATE = 2000


class RequestError(InfraError):
    """A request that failed after all retries.

    If the server was not `reached`, other requests will probably fail too.
    """

    def __init__(
        self, message: str, *, reached: bool, cause: Cause | None = None, is_billed: bool = False
    ) -> None:
        super().__init__(message)
        self.reached = reached
        self.cause = cause
        self.is_billed = is_billed


@dataclass(frozen=True)
class Completion:
    """One reply of a model, or the problem that takes its place."""

    text: str
    problem: str = ""
    tokens: Tokens | None = None
    """None if the server does not report them."""
    cost_usd: float | None = None
    finish_reason: str = ""
    temperature: float | None = None
    """None if it was not set, or the server rejects the parameter."""
    has_system_role: bool = True
    """False if the system's text began the user's message."""
    cut_by_server: str = ""
    """The numbers of tokens sent and read, if the server read far fewer."""
    tool: str = ""
    """The name of the tool that the model called, although none is offered."""


class ChatClient:
    """A connection to a model; use as an asynchronous context manager.

    Raises:
        InputError: the address or the key is malformed.
    """

    def __init__(
        self, endpoint: Endpoint, temperature: float | None = None, response_format: Any = None
    ) -> None:
        self.endpoint = endpoint
        self._options: Options = {
            "response_format": response_format,
            "temperature": temperature,
            "stream": False,  # some gateways stream by default
            "system": True,
            NEW_LIMIT: endpoint.max_tokens,
            OLD_LIMIT: None,
        }
        self._url, self._key = address_and_key(endpoint.base_url)
        self.server = server_name(self._url)
        self.budget = Budget()
        self.answers_others = False
        """Whether the server answers other requests; then a refused one is at fault itself."""
        self._is_reachable = False
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
            InputError, InfraError: other requests would fail the same way: the key, the model,
                a limit, the address or the account's credit is at fault.
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
            elif tries[cause] < self._most_retries(reply, cause):
                await asyncio.sleep(reply.pause_s(tries[cause]))
                tries[cause] += 1
            elif cause is Cause.FILTER and self.answers_others:
                return self._filtered(reply, options)
            else:
                raise self.failure(reply, cause)

    async def _send(self, messages: Sequence[Message], options: Options) -> Reply:
        """Send a request once; CostLimitError if the budget forbids it."""
        if self.budget.why:
            raise CostLimitError(self.budget.why)
        if not options["system"]:
            messages = _without_system_role(messages)
        body = {**self.endpoint.body, "model": self.endpoint.model, "messages": messages}
        for name, value in options.items():
            if value is not None and name != "system":
                body[name] = value
        reply = await self._connection.send(body)
        self._is_reachable = self._is_reachable or reply.status > 0
        return reply

    def _most_retries(self, reply: Reply, cause: Cause | None) -> int:
        if cause is Cause.UNKNOWN:
            return min(self.endpoint.retries, _RETRIES_UNKNOWN)
        if cause is None and reply.is_passing:
            return self.endpoint.retries
        return 0

    def _filtered(self, reply: Reply, options: Options) -> Completion:
        """Return the refusal of a content filter as an answer without tokens."""
        tokens = Tokens(0, 0)
        return Completion(
            "",
            problem=f"refused ({FILTERED}): {self.clean(reply.refusal.message)}",
            tokens=tokens,
            cost_usd=self.budget.add(tokens),
            finish_reason=FILTERED,
            temperature=options["temperature"],
        )

    def _completion(
        self, reply: Reply, cost: float | None, messages: Sequence[Message], options: Options
    ) -> Completion:
        """Read an answer."""
        choice = get(reply.body, "choices", 0)
        if choice is None:
            problem = "the server sends a stream, although stream is false"
            if reply.break_off:
                problem += f": {self.clean(reply.break_off)}"
            raise RequestError(problem, reached=False, is_billed=True)
        self.answers_others = True
        message = get(choice, "message")
        reason = one_line(get(choice, "finish_reason"))[:40]
        tool = _tool(message)
        problem = self._problem(message, reason, tool)
        return Completion(
            text="" if problem else _text(get(message, "content")),
            problem=problem,
            tokens=reply.tokens,
            cost_usd=cost,
            finish_reason=reason,
            temperature=options["temperature"],
            has_system_role=options["system"],
            cut_by_server=self._check_tokens(reply.tokens, messages, options),
            tool=tool,
        )

    def _learn(self, options: Options, started: Options) -> None:
        """Leave out in later requests what the server refused in this one."""
        changes = {name: value for name, value in options.items() if value != started[name]}
        if changes:
            self._options = {**self._options, **changes}
            refused = [name for name in changes if started[name] is not None]
            self._warn("refused", f"the server does not accept {' and '.join(refused)}")

    def _problem(self, message: Any, reason: str, tool: str) -> str:
        """Return why a message is not an answer; empty if it is one.

        Warn of problems that settings of the server can fix.
        """
        if tool:
            fix = "check the server's tool parser, or choose a model that answers in text"
            self._warn("tool", f"it calls tools that the request does not offer ({tool}); {fix}")
        if get(message, "refusal"):
            return "the model refused to answer"
        if _text(get(message, "content")).strip():
            return ""
        problem = tool_problem(tool) if tool else _empty_problem(reason)
        for name in ("reasoning_content", "reasoning"):
            if _text(get(message, name)):
                fix = "check the server's reasoning parser"
                problem += f"; the text came as reasoning (in {name}): {fix}"
                self._warn("reasoning", f"an answer has no text: {problem}")
                break
        return problem

    def _check_tokens(
        self, tokens: Tokens | None, messages: Sequence[Message], options: Options
    ) -> str:
        """Compare the counted tokens with the request, and warn if its limit was ignored.

        Returns:
            The numbers of tokens sent and read, if the server read far fewer; else nothing.
        """
        if tokens is None:
            return ""
        limit = self.endpoint.max_tokens
        name = NEW_LIMIT if options[NEW_LIMIT] else OLD_LIMIT
        if self.is_limit_ignored(tokens, name, limit):
            self._options = {**self._options, NEW_LIMIT: None, OLD_LIMIT: limit}
        return self._cut_prompt(tokens, messages)

    def _cut_prompt(self, tokens: Tokens, messages: Sequence[Message]) -> str:
        characters = sum(len(message["content"]) for message in messages)
        sent = round(characters / CHARACTERS_PER_TOKEN)
        if sent < _MIN_ESTIMATE or tokens.question >= sent * _LEAST_READ:
            return ""
        cut = f"about {sent:,} tokens sent, {tokens.question:,} read"
        fix = "raise the context length that it runs with"
        self._warn("cut", f"the server seems to cut prompts ({cut}); {fix}")
        return cut

    def is_limit_ignored(self, tokens: Tokens, name: str, limit: int | None) -> bool:
        """Return whether an answer is longer than the limit sent by this name; warn of it once."""
        if not limit or tokens.answer <= limit + max(16, limit // 10):
            return False
        instead = f"; {OLD_LIMIT} is sent instead" if name == NEW_LIMIT else ""
        counted = f"{tokens.answer:,} tokens, not {limit:,}"
        self._warn(name, f"the server ignores {name} ({counted}){instead}")
        return True

    def _warn(self, kind: str, message: str) -> None:
        """Log a warning, once of each kind."""
        if kind not in self._warned:
            self._warned.add(kind)
            _log.warning("%s: %s", self.endpoint.model, message)

    def cause(self, reply: Reply) -> Cause | None:
        """Return the cause of a refusal; None if its status says all."""
        return cause_of(reply.status, reply.refusal, self.endpoint.max_tokens)

    def clean(self, message: str) -> str:
        """Return a message of the server in one line, without the key."""
        if self._key:
            message = message.replace(self._key, "***")
        return one_line(message)[:300]

    def failure(self, reply: Reply, cause: Cause | None) -> LMRBenchError:
        """Return the exception for a problem that neither retries nor other parameters fix."""
        message = self.clean(reply.problem)
        if not (reply.status or reply.is_billed or self._is_reachable):
            problem = f"no server answers at {self.server} ({message})"
            return InfraError(f"{problem}; check the address, and that the server runs")
        if cause is Cause.CREDIT:
            return InfraError(f"the account has no credit left: {message}")
        if cause is Cause.LIMIT:
            refused = f"the server {self.server} does not take {self.endpoint.max_tokens}"
            return ArgumentError("max_tokens", f"{refused}: {message}")
        hint = self._hint(reply.status, cause)
        if hint:
            return InputError(f"the server {self.server} {hint}: {message}")
        is_reached = cause is Cause.LENGTH or (cause is not None and self.answers_others)
        return RequestError(message, reached=is_reached, cause=cause, is_billed=reply.is_billed)

    def _hint(self, status: int, cause: Cause | None) -> str:
        """Return what the user can check; empty if other requests may succeed."""
        model = f"the model {self.endpoint.model!r}"
        variable = key_variable(self._url)
        if cause is Cause.ACCESS:
            return f"refuses {model} or the key in {variable}"
        if cause is not None:
            return ""
        hints = {
            302: "does not answer",
            401: f"refuses the key; set {variable}",
            403: f"denies access; check {variable} and its permissions",
            404: f"does not know {model} or the address (it often ends in /v1)",
            405: "does not know the address (it often ends in /v1)",
        }
        return hints.get(status, "")


def cut_problem(reason: str) -> str:
    """Return the problem of an answer that reached the token limit."""
    return f"it was cut at max_tokens (finish_reason {reason})"


def _empty_problem(reason: str) -> str:
    """Return the problem of an answer without a text that ended for this reason."""
    if is_token_limit(reason):
        return cut_problem(reason)
    what = "was cut off" if ending(reason) is Ending.CUT else "is empty"
    return f"it {what} (finish_reason {reason})"


def tool_problem(tool: str) -> str:
    """Return the problem of an answer that is a call of this tool."""
    return f"the model called a tool ({tool}) instead of answering"


def _tool(message: Any) -> str:
    """Return the name of the first tool that a message calls; empty if it calls none."""
    call = get(message, "tool_calls", 0) or get(message, "function_call")
    if not call:
        return ""
    name = get(call, "function", "name") or get(call, "custom", "name") or get(call, "name")
    return one_line(name or "unnamed")[:80]


def _without_system_role(messages: Sequence[Message]) -> Sequence[Message]:
    """Return the messages with the system's text at the start of the user's first."""
    if messages[0]["role"] != "system":
        return messages
    system, first, *rest = messages
    return [{**first, "content": f"{system['content']}\n\n{first['content']}"}, *rest]


def _text(content: Any) -> str:
    """Return the text of a message: a string, or a list of parts of which some are text."""
    if isinstance(content, list):
        parts = [get(part, "text") for part in content if get(part, "type") == "text"]
        return "".join(str(part or "") for part in parts)
    return content if isinstance(content, str) else ""
