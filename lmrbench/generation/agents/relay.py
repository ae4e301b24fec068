"""The only way from an agent to the model: one server, one model, the key added on this side, everything counted.

Requests from a box are not trusted: they reach this server only, for chat completions of this model. Limits on steps
and costs are enforced here, regardless of the agent's own. A server's error text, which may quote the key, stays here.
"""

import asyncio
import concurrent.futures
import json
import threading
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from lmrbench_data.base.errors import InfraError, InputError, LMRBenchError
from lmrbench_data.base.text import one_line, plural
from lmrbench_data.chat.budget import Budget, Tokens
from lmrbench_data.chat.client import ChatClient
from lmrbench_data.chat.endpoint import Endpoint
from lmrbench_data.chat.refusals import LIMITS, Cause, get
from lmrbench_data.chat.reply import Reply
from lmrbench_data.chat.server import Connection, address_and_key

from .allowed import NotAllowedError, read_request

STEP_LIMIT, COST_LIMIT, COST_UNKNOWN = "step_limit", "cost_limit", "cost_unknown"
#: Seconds for requests that are under way when an agent is done: nobody waits for their answers.
GRACE_S = 2.0
#: Repetitions of a request that is refused for no known cause, and the pause before each in seconds.
_REPEATS, _PAUSE_S = 2, 0.5
#: What an agent is told of a refusal that it can act on: message and code.
_TOLD: Mapping[Cause | None, tuple[str, str]] = {
    Cause.LENGTH: ("This model's maximum context length is exceeded.", "context_length_exceeded"),
    Cause.FILTER: ("A content filter refused this request.", "content_filter"),
}
_RESPONSES = (
    "only chat completions are relayed, not /v1/responses; if this model takes tools without reasoning, add --body "
    "'reasoning_effort=\"none\"', else choose another model, or serve it under another name through a gateway"
)
_JSON = "application/json"


class HttpAnswer(NamedTuple):
    """An answer to an agent, whatever its status."""

    status: int
    body: bytes
    kind: str = _JSON
    retry_after: str = ""


class RunEndedError(InfraError):
    """No request of the run will be answered: the key, the model or the account's credit is at fault."""


class Relay:
    """Forwards one agent's requests and counts them; safe to call from several threads.

    Requests run on one event loop in a thread of its own, which alone changes the counts.

    Args:
        budget: of all agents of a run together.
        max_tokens: limit of each answer; None leaves it to the agent.
        request_s: seconds for one request.
        body: parameters that replace those of each request.
    """

    def __init__(
        self,
        model: str,
        base_url: str | None,
        *,
        budget: Budget,
        max_steps: int | None = None,
        max_tokens: int | None = None,
        request_s: float = 600.0,
        body: Mapping[str, Any] | None = None,
    ) -> None:
        self.model, self._budget, self._body = model, budget, body or {}
        self._max_steps, self._max_tokens = max_steps, max_tokens
        self._rules = ChatClient(Endpoint(model=model, base_url=base_url, max_tokens=max_tokens))
        self._server = Connection(*address_and_key(base_url), request_s)
        self._limit_name = LIMITS[0]
        self._loop, self._lock, self._is_closed = asyncio.new_event_loop(), threading.Lock(), False
        self._requests: set[concurrent.futures.Future[HttpAnswer]] = set()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()
        self._pending, self._has_answer = 0, False
        self.steps = 0
        """Requests that the server answered, or may have billed."""
        self.input_tokens = self.output_tokens = 0
        self.counted = True
        """True if the server reported the tokens of each answer."""
        self.cost_usd: float | None = 0.0
        """US dollars of all answers; None if the cost of one is unknown."""
        self.limit = ""
        """The limit that ended it; empty if none did."""
        self.failure = ""
        """The reason why the last request has no answer; empty if it has one."""
        self.fatal = ""
        """The reason why no request of the run will be answered; empty if some may be."""
        self.complaint = ""
        """The reason why the last request was wrong; empty if there was none."""
        self.refused, self.waited_s, self._waits_since = 0, 0.0, 0.0
        """Requests without an answer, and the seconds between each first one and the next answer."""

    def check(self) -> None:
        """Check that what the agent leaves is an answer of the model.

        Raises:
            RunEndedError: none of the run's will be.
            InfraError: it is not.
        """
        if self.fatal:
            raise RunEndedError(self.fatal)
        if self.failure:
            raise InfraError(
                f"{self.failure} ({plural(self.refused, 'request')} without an answer)"
            )
        if not self._has_answer:
            raise InfraError(
                f"the model answered no request of the agent ({self.complaint or 'there was none'})"
            )

    def stop(self) -> None:
        """Forward nothing from now on."""
        with self._lock:
            self._is_closed = True

    def close(self) -> None:
        """Forward nothing more, and cut off requests still under way after a moment; then the numbers are final."""
        self.stop()
        if self._loop.is_running():
            concurrent.futures.wait(self._requests.copy(), GRACE_S)
            asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
            self._loop.call_soon_threadsafe(self._loop.stop)

    def answer(self, method: str, path: str, body: bytes) -> HttpAnswer:
        """Return the answer to a request of the agent."""
        path = path.partition("?")[0].rstrip("/").removeprefix("/v1")
        if (method, path) == ("GET", "/models"):
            entry = {"id": self.model, "object": "model", "created": 0, "owned_by": "lmrbench"}
            return _json(200, {"object": "list", "data": [entry]})
        if (method, path) != ("POST", "/chat/completions"):
            self.complaint = _RESPONSES if path == "/responses" else self.complaint
            return _refusal(404, "only POST /v1/chat/completions and GET /v1/models are relayed")
        try:
            request = read_request(body, self.model)
        except NotAllowedError as error:
            self.complaint = str(error)
            return _refusal(400, str(error))
        with self._lock:
            if self._is_closed:
                return _refusal(403, "time is up")
            future = asyncio.run_coroutine_threadsafe(self._forward(request), self._loop)
            self._requests.add(future)
        try:
            return future.result()
        except concurrent.futures.CancelledError:
            return _refusal(403, "time is up")
        finally:
            self._requests.discard(future)

    async def _end(self) -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._server.close()

    async def _forward(self, request: dict[str, Any]) -> HttpAnswer:
        """Ask the server within all limits."""
        if self.fatal:
            return _refusal(403, "the run ends")
        # With those under way, so that requests at the same time do not pass together.
        if self._max_steps is not None and self.steps + self._pending >= self._max_steps:
            self.limit = STEP_LIMIT
            return _refusal(403, f"the limit of {self._max_steps} steps is reached")
        if why := self._budget.why:
            self.limit = COST_UNKNOWN if self._budget.unknown else COST_LIMIT
            return _refusal(403, why)
        self._pending += 1
        try:
            return await self._ask({**request, **self._body})
        finally:
            self._pending -= 1

    async def _ask(self, request: dict[str, Any]) -> HttpAnswer:
        """Send one request, again if that may help, and count its answer."""
        limits = (
            [request.pop(name) for name in LIMITS if name in request] if self._max_tokens else []
        )
        repeats = _REPEATS
        while True:
            body = {**request, **self._limit(*limits)}
            try:
                reply = await self._server.send(body)
            except InputError as error:
                self.fatal = str(error)
                return _refusal(403, "the run ends")
            if reply.is_billed:
                self._bill(reply.tokens)
            if not reply.problem:
                return self._count(reply, body)
            cause = self._rules.cause(reply)
            if (
                self._max_tokens
                and LIMITS[0] in body
                and reply.refusal.place_of(LIMITS[0]) is not None
            ):
                self._limit_name = LIMITS[1]  # older servers know the limit by its older name
            elif cause is Cause.UNKNOWN and repeats and not reply.is_billed:
                await asyncio.sleep(_PAUSE_S)
                repeats -= 1
            else:
                return await self._refuse(reply, cause)

    def _limit(self, *limits: int) -> dict[str, int]:
        return {self._limit_name: min([self._max_tokens, *limits])} if self._max_tokens else {}

    async def _refuse(self, reply: Reply, cause: Cause | None) -> HttpAnswer:
        """Return what the agent is told of a refusal."""
        if not reply.status:
            return self._miss(502, f"the server does not answer ({reply.problem})")
        failure = self._rules.failure(reply, cause)
        reason = str(failure)
        if "/responses" in reply.refusal.text:
            reason = f"{self._rules.clean(reply.refusal.message)} ({_RESPONSES})"
        if isinstance(failure, LMRBenchError) and await self._is_refused_for_good():
            self.fatal = reason
        elif cause is None:
            retry_after = one_line(reply.response.headers.get("Retry-After", ""))[:40]
            return self._miss(reply.status, f"the server says {reason}", retry_after)
        self.failure, self.complaint = "", reason
        if told := _TOLD.get(cause):
            return _refusal(400, *told)
        return _refusal(reply.status, f"The server refused this request ({reply.status}).")

    async def _is_refused_for_good(self) -> bool:
        """Ask what no agent wrote: a firewall, or words of the agent that an error repeats, must not end the run."""
        body = {
            "model": self.model,
            "messages": [{"role": "user", "content": "Say OK."}],
            **self._body,
        }
        reply = await self._server.send({**body, **self._limit()})
        if reply.is_billed:
            self._budget.add(reply.tokens)
        is_refused = bool(reply.status and reply.problem)
        return is_refused and isinstance(
            self._rules.failure(reply, self._rules.cause(reply)), LMRBenchError
        )

    def _miss(self, status: int, reason: str, retry_after: str = "") -> HttpAnswer:
        """Note that a request has no answer."""
        self.failure = reason
        self.refused += 1
        self._waits_since = self._waits_since or time.monotonic()
        return _refusal(status, "The server gave no answer.")._replace(retry_after=retry_after)

    def _bill(self, tokens: Tokens | None) -> None:
        """Count a step, whose tokens are None if they are unknown."""
        self.steps += 1
        cost = self._budget.add(tokens)
        self.cost_usd = None if self.cost_usd is None or cost is None else self.cost_usd + cost
        self.counted = self.counted and tokens is not None
        self.input_tokens += tokens.question if tokens else 0
        self.output_tokens += tokens.answer if tokens else 0

    def _count(self, reply: Reply, request: Mapping[str, Any]) -> HttpAnswer:
        """Note an answer, which may be a stream that breaks off."""
        tokens = reply.tokens
        if tokens and self._rules.is_limit_ignored(
            tokens, self._limit_name, request.get(self._limit_name)
        ):
            self._limit_name = LIMITS[1]
        errors = [get(event, "error") for event in reply.events if get(event, "error")]
        if errors:
            message = self._rules.clean(str(get(errors[0], "message") or errors[0]))
            return self._miss(502, f"the answer broke off: {message}")
        self.failure, self._has_answer = "", True
        if self._waits_since:
            self.waited_s += time.monotonic() - self._waits_since
            self._waits_since = 0.0
        kind = one_line(reply.response.headers.get("Content-Type") or _JSON)[:100]
        return HttpAnswer(200, reply.response.content, kind)


def _refusal(status: int, message: str, code: str = "relay") -> HttpAnswer:
    return _json(
        status, {"error": {"message": message, "type": "relay", "param": None, "code": code}}
    )


def _json(status: int, value: Any) -> HttpAnswer:
    return HttpAnswer(status, json.dumps(value).encode())
