"""The only way from an agent to the model: one server, one model, the key added on this side.

Requests from a box are not trusted: they reach this server only, as far as `allowed` relays them.
Limits on steps and costs are enforced here, regardless of the agent's own. A server's error text,
which may quote the key, stays here.
"""

import asyncio
import concurrent.futures
import json
import threading
from collections.abc import Coroutine, Mapping
from typing import Any, NamedTuple

from lmrbench_data.base.errors import InfraError, InputError, LMRBenchError
from lmrbench_data.base.text import one_line, plural
from lmrbench_data.chat.budget import Budget
from lmrbench_data.chat.client import ChatClient
from lmrbench_data.chat.endpoint import Endpoint
from lmrbench_data.chat.refusals import LIMITS, Cause, get
from lmrbench_data.chat.reply import Reply
from lmrbench_data.chat.server import Connection, address_and_key

from .allowed import DIALECTS, Dialect, NotAllowedError, Request
from .usage import Usage

STEP_LIMIT, COST_LIMIT, COST_UNKNOWN = "step_limit", "cost_limit", "cost_unknown"
#: Seconds for requests that are under way when an agent is done: nothing waits for their answers.
GRACE_S = 2.0
#: Repetitions of a request that is refused for no known cause, and seconds before each.
_REPEATS = 2
_PAUSE_S = 0.5
_RESPONSES = (
    "only chat completions are relayed, not /v1/responses; if this model takes tools without "
    "reasoning, add --body 'reasoning_effort=\"none\"', else choose another model, or serve it "
    "under another name through a gateway"
)
_JSON = "application/json"


class HttpAnswer(NamedTuple):
    """An answer to an agent, whatever its status."""

    status: int
    body: bytes
    kind: str = _JSON
    retry_after: str = ""


class RunEndedError(InfraError):
    """No request of the run will succeed: the key, the model or the account is at fault."""


class Relay:
    """Forwards one agent's requests and counts them; safe to call from several threads.

    Requests run on one event loop in its own thread, which alone changes the counts.

    Args:
        endpoint: its `max_tokens` limits each answer; its `body` replaces parameters of requests.
        budget: of all agents of a run together.
    """

    def __init__(self, endpoint: Endpoint, budget: Budget, max_steps: int | None = None) -> None:
        self.model = endpoint.model
        self.usage = Usage(budget)
        self.limit = ""
        """The limit that ended the work of the agent; empty if none did."""
        self.failure = ""
        """The reason why the last request has no answer; empty if it has one."""
        self.fatal = ""
        """The reason why no request of the run will be answered; empty if some may be."""
        self.complaint = ""
        """The reason why the last request was wrong; empty if there was none."""
        self._has_answer = False
        self._budget = budget
        self._max_steps = max_steps
        self._max_tokens = endpoint.max_tokens
        self._body = endpoint.body
        self._limit_name = LIMITS[0]
        self._rules = ChatClient(endpoint)
        self._server = Connection(*address_and_key(endpoint.base_url), endpoint.timeout_s)
        self._pending = 0
        self._is_closed = False
        self._lock = threading.Lock()
        self._requests: set[concurrent.futures.Future[HttpAnswer]] = set()
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()

    @property
    def was_asked(self) -> bool:
        """Whether the agent sent a request, even one that was refused."""
        return bool(self.usage.steps or self.limit or self.failure or self.complaint)

    def check(self) -> None:
        """Check that what the agent leaves is an answer of the model.

        Raises:
            RunEndedError: no request of the run will be answered.
            InfraError: it is not.
        """
        if self.fatal:
            raise RunEndedError(self.fatal)
        if self.failure:
            count = plural(self.usage.refused, "request")
            raise InfraError(f"{self.failure} ({count} without an answer)")
        if not self._has_answer:
            reason = self.complaint or "there was none"
            raise InfraError(f"the model answered no request of the agent ({reason})")

    def stop(self) -> None:
        """Forward nothing from now on."""
        with self._lock:
            self._is_closed = True

    def close(self) -> None:
        """Cut off requests that are under way after a moment; then the numbers are final."""
        self.stop()
        if self._loop.is_running():
            concurrent.futures.wait(self._requests.copy(), GRACE_S)
            asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
            self._loop.call_soon_threadsafe(self._loop.stop)

    async def _end(self) -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._server.close()

    def answer(self, method: str, path: str, body: bytes) -> HttpAnswer:
        """Return the answer to a request of the agent."""
        path = path.partition("?")[0].rstrip("/").removeprefix("/v1")
        if (method, path) == ("GET", "/models"):
            entry = {"id": self.model, "object": "model", "created": 0, "owned_by": "lmrbench"}
            return _json(200, {"object": "list", "data": [entry]})
        dialect = DIALECTS.get(path)
        if method != "POST" or dialect is None:
            if path == "/responses":
                self.complaint = _RESPONSES
            return _refusal(404, "only POST /v1/chat/completions and GET /v1/models are relayed")
        try:
            request = dialect.read(body, self.model)
        except NotAllowedError as error:
            self.complaint = str(error)
            return _refusal(400, self.complaint)
        return self._run(self._forward(dialect, request))

    def _run(self, work: Coroutine[Any, Any, HttpAnswer]) -> HttpAnswer:
        """Wait for an answer that the event loop gets."""
        with self._lock:
            if self._is_closed:
                work.close()
                return _refusal(403, "time is up")
            future = asyncio.run_coroutine_threadsafe(work, self._loop)
            self._requests.add(future)
        try:
            return future.result()
        except concurrent.futures.CancelledError:
            return _refusal(403, "time is up")
        finally:
            self._requests.discard(future)

    async def _forward(self, dialect: Dialect, request: Request) -> HttpAnswer:
        """Ask the server within all limits."""
        obstacle = self._obstacle()
        if obstacle:
            return _refusal(403, obstacle)
        self._pending += 1
        try:
            return await self._ask(dialect, {**request, **self._body})
        finally:
            self._pending -= 1

    def _obstacle(self) -> str:
        """Return why no request may be sent; empty if one may be."""
        if self.fatal:
            return "the run ends"
        # Those under way count, so requests at the same time do not pass together.
        steps = self.usage.steps + self._pending
        if self._max_steps is not None and steps >= self._max_steps:
            self.limit = STEP_LIMIT
            return f"the limit of {self._max_steps} steps is reached"
        if self._budget.why:
            self.limit = COST_UNKNOWN if self._budget.unknown else COST_LIMIT
        return self._budget.why

    async def _ask(self, dialect: Dialect, request: Request) -> HttpAnswer:
        """Send a request, again if that may help, and count its answer."""
        repeats = _REPEATS
        while True:
            body = self._with_limit(request)
            try:
                reply = await self._server.send(body)
            except InputError as error:
                self.fatal = str(error)
                return _refusal(403, "the run ends")
            if reply.is_billed:
                self.usage.bill(reply.tokens)
            if not reply.problem:
                return self._take(reply, body)
            cause = self._rules.cause(reply)
            is_ours = self._max_tokens and LIMITS[0] in body
            if is_ours and reply.refusal.first_named(LIMITS[:1]):
                self._limit_name = LIMITS[1]  # older servers know the limit by its older name
            elif cause is Cause.UNKNOWN and repeats and not reply.is_billed:
                await asyncio.sleep(_PAUSE_S)
                repeats -= 1
            else:
                return await self._refuse(dialect, reply, cause)

    def _with_limit(self, request: Request) -> Request:
        """Return a request with one token limit, at most that of the run."""
        if not self._max_tokens:
            return request
        limits = [self._max_tokens]
        sent = dict(request)
        for name in LIMITS:
            limits.append(sent.pop(name, self._max_tokens))
        return {**sent, self._limit_name: min(limits)}

    async def _refuse(self, dialect: Dialect, reply: Reply, cause: Cause | None) -> HttpAnswer:
        """Return what the agent is told of a refusal."""
        if not reply.status:
            return self._miss(502, f"the server does not answer ({reply.problem})")
        failure = self._rules.failure(reply, cause)
        reason = str(failure)
        if "/responses" in reply.refusal.text:
            reason = f"{self._rules.clean(reply.refusal.message)} ({_RESPONSES})"
        if isinstance(failure, LMRBenchError) and await self._is_refused_for_good(dialect):
            self.fatal = reason
        elif cause is None:
            retry_after = one_line(reply.response.headers.get("Retry-After", ""))[:40]
            return self._miss(reply.status, f"the server says {reason}", retry_after)
        self.failure = ""
        self.complaint = reason
        refused = f"The server refused this request ({reply.status})."
        return _ADVICE.get(cause) or _refusal(reply.status, refused)

    async def _is_refused_for_good(self, dialect: Dialect) -> bool:
        """Ask what no agent wrote.

        A firewall, or words of the agent that an error repeats, must not end the run.
        """
        request = {"model": self.model, **dialect.probe, **self._body}
        reply = await self._server.send(self._with_limit(request))
        if reply.is_billed:
            self._budget.add(reply.tokens)
        if not (reply.status and reply.problem):
            return False
        failure = self._rules.failure(reply, self._rules.cause(reply))
        return isinstance(failure, LMRBenchError)

    def _miss(self, status: int, reason: str, retry_after: str = "") -> HttpAnswer:
        """Note that a request has no answer."""
        self.failure = reason
        self.usage.miss()
        return _refusal(status, "The server gave no answer.")._replace(retry_after=retry_after)

    def _take(self, reply: Reply, request: Request) -> HttpAnswer:
        """Return an answer, which may be a stream that breaks off."""
        limit = request.get(self._limit_name)
        if reply.tokens and self._rules.is_limit_ignored(reply.tokens, self._limit_name, limit):
            self._limit_name = LIMITS[1]
        error = next(filter(None, (get(event, "error") for event in reply.events)), None)
        if error:
            message = self._rules.clean(str(get(error, "message") or error))
            return self._miss(502, f"the answer broke off: {message}")
        self.failure = ""
        self._has_answer = True
        self.usage.end_wait()
        kind = one_line(reply.response.headers.get("Content-Type") or _JSON)[:100]
        return HttpAnswer(200, reply.response.content, kind)


def _refusal(status: int, message: str, code: str = "relay") -> HttpAnswer:
    error = {"message": message, "type": "relay", "param": None, "code": code}
    return _json(status, {"error": error})


def _json(status: int, value: Any) -> HttpAnswer:
    return HttpAnswer(status, json.dumps(value).encode())


#: What an agent is told of a refusal that it can act on.
_ADVICE: Mapping[Cause | None, HttpAnswer] = {
    Cause.LENGTH: _refusal(
        400, "This model's maximum context length is exceeded.", "context_length_exceeded"
    ),
    Cause.FILTER: _refusal(400, "A content filter refused this request.", "content_filter"),
}
