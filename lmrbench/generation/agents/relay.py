"""The only way from an agent to the model: one server, one model, the key added on this side.

Requests from a box are not trusted: they reach this server only, as far as `dialects` relays them.
Limits on steps and costs are enforced here, regardless of the agent's own. A server's error text,
which may quote the key, stays here.
"""

import asyncio
import concurrent.futures
import json
import threading
from collections.abc import Coroutine, Mapping
from typing import Any, NamedTuple

from lmrbench_data.base.errors import InfraError, InputError
from lmrbench_data.base.text import one_line, plural
from lmrbench_data.chat.budget import Budget
from lmrbench_data.chat.client import ChatClient, RequestError
from lmrbench_data.chat.endpoint import Endpoint
from lmrbench_data.chat.refusals import Cause
from lmrbench_data.chat.reply import Reply
from lmrbench_data.chat.server import Connection, address_and_key

from .dialects import CHAT, DIALECTS, Dialect, NotAllowedError, Request
from .usage import Usage

STEP_LIMIT, COST_LIMIT, COST_UNKNOWN = "step_limit", "cost_limit", "cost_unknown"
#: Seconds for requests that are under way when an agent is done: nothing waits for their answers.
GRACE_S = 2.0
#: Repetitions of a request that is refused for no known cause, and seconds before each.
_REPEATS = 2
_PAUSE_S = 0.5
#: Statuses of a busy server, which is asked again while the agent waits.
_BUSY = (429, 503, 529)
_RESPONSES = (
    "this agent asks for chat completions; if this model takes tools without reasoning, add --body "
    "'reasoning_effort=\"none\"', else choose another model, or codex, which asks for /v1/responses"
)
_JSON = "application/json"
#: What agents may ask for.
_PATHS = ", ".join(f"/v1{path}" for path in DIALECTS)
#: Parameters of thinking, which clients choose themselves.
_EFFORT = ("reasoning", "reasoning_effort", "thinking", "output_config", "verbosity")
#: Characters of one of them, as JSON, that a row states.
_MAX_EFFORT = 500


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
        """The reason why the last wrong request was refused; empty if none was wrong."""
        self._has_answer = False
        self._budget = budget
        self._max_steps = max_steps
        self._max_tokens = endpoint.max_tokens
        self._body = endpoint.body
        self._limit_number = 0
        """Index of the name of the token limit among those of a dialect."""
        self._rules = ChatClient(endpoint)
        self._server = Connection(*address_and_key(endpoint.base_url), endpoint.timeout_s)
        self._pending = 0
        self._is_closed = False
        self._lock = threading.Lock()
        self._requests: set[concurrent.futures.Future[HttpAnswer]] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

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
        if self._thread.is_alive():
            concurrent.futures.wait(self._requests.copy(), GRACE_S)
            asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()

    async def _end(self) -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._server.close()

    def answer(self, method: str, path: str, body: bytes, betas: str = "") -> HttpAnswer:
        """Return the answer to a request of the agent.

        Args:
            betas: names of additions to Anthropic's messages, with commas between them.
        """
        path = path.partition("?")[0].rstrip("/").removeprefix("/v1")
        if (method, path) == ("GET", "/models"):
            return _models(self.model)
        dialect = DIALECTS.get(path)
        if method != "POST" or dialect is None:
            return _refusal(404, f"only GET /v1/models and POST to {_PATHS} are relayed")
        try:
            request = dialect.read(body, self.model)
        except NotAllowedError as error:
            self.complaint = str(error)
            return _refusal(400, self.complaint)
        return self._run(self._forward(dialect, request, dialect.headers(betas)))

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

    async def _forward(
        self, dialect: Dialect, request: Request, headers: Mapping[str, str]
    ) -> HttpAnswer:
        """Ask the server within all limits."""
        self._pending += 1
        request = {**request, **self._body}
        self._note_effort(request)
        try:
            return await self._ask(dialect, request, headers)
        finally:
            self._pending -= 1

    def _note_effort(self, request: Request) -> None:
        """Note how much thinking a request asks for, so that the row can say it."""
        self.usage.effort = {}
        for name in _EFFORT:
            if name in request and len(json.dumps(request[name])) <= _MAX_EFFORT:
                self.usage.effort[name] = request[name]

    def _obstacle(self) -> str:
        """Return why a request that is under way may not be sent; empty if it may be."""
        if self.fatal:
            return "the run ends"
        # Others under way count, so requests at the same time do not pass together.
        steps = self.usage.steps + self._pending - 1
        if self._max_steps is not None and steps >= self._max_steps:
            self.limit = STEP_LIMIT
            return f"the limit of {self._max_steps} steps is reached"
        if self._budget.why:
            self.limit = COST_UNKNOWN if self._budget.unknown else COST_LIMIT
        return self._budget.why

    async def _ask(
        self, dialect: Dialect, request: Request, headers: Mapping[str, str]
    ) -> HttpAnswer:
        """Send a request, again if that may help, and count its answer."""
        tries = 0
        while True:
            obstacle = self._obstacle()
            if obstacle:
                return _refusal(403, obstacle)
            body = self._with_limit(dialect, request)
            try:
                reply = await self._server.send(body, dialect.form, headers)
            except InputError as error:
                self.fatal = str(error)
                return _refusal(403, "the run ends")
            if reply.is_billed:
                self.usage.bill(reply.tokens)
            if not reply.problem:
                return self._take(dialect, reply, body)
            pause_s = self._pause_s(dialect, reply, tries)
            if pause_s is None:
                return await self._refuse(dialect, reply)
            await asyncio.sleep(pause_s)
            tries += 1

    def _pause_s(self, dialect: Dialect, reply: Reply, tries: int) -> float | None:
        """Return the seconds before a request is sent again; None if it is refused."""
        cause = self._rules.cause(reply)
        if self._is_old_limit_expected(dialect, reply):
            self._limit_number = 1
            return 0.0
        if cause is None and _is_busy(dialect, reply):
            self._miss(reply.status, self._reason(reply))
            return reply.pause_s(tries)
        if cause is Cause.UNKNOWN and tries < _REPEATS and not reply.is_billed:
            return _PAUSE_S
        return None

    def _limit_name(self, dialect: Dialect) -> str:
        return dialect.limits[min(self._limit_number, len(dialect.limits) - 1)]

    def _is_old_limit_expected(self, dialect: Dialect, reply: Reply) -> bool:
        """Return whether an older server refuses the newer name of the token limit."""
        name = self._limit_name(dialect)
        if not self._max_tokens or name == dialect.limits[-1]:
            return False
        return bool(reply.refusal.first_named([name]))

    def _with_limit(self, dialect: Dialect, request: Request) -> Request:
        """Return a request with one token limit, at most that of the run."""
        if not self._max_tokens:
            return request
        limits = [self._max_tokens]
        sent = dict(request)
        for name in dialect.limits:
            limits.append(sent.pop(name, self._max_tokens))
        limit = min(limits)
        return dialect.fit({**sent, self._limit_name(dialect): limit}, limit)

    async def _refuse(self, dialect: Dialect, reply: Reply) -> HttpAnswer:
        """Note a refusal, and return what the agent is told of it."""
        if not reply.status:
            return self._miss(502, f"the server does not answer ({reply.problem})")
        cause = self._rules.cause(reply)
        ends_run = self._concerns_all(reply) and await self._is_refused_for_good(dialect)
        if cause is None and not ends_run:
            retry_after = one_line(reply.response.headers.get("Retry-After", ""))[:40]
            return self._miss(reply.status, self._reason(reply), retry_after)
        self.failure = ""
        self.complaint = str(self._rules.failure(reply, cause))
        if dialect is CHAT and "/responses" in reply.refusal.text:
            self.complaint = f"{self._rules.clean(reply.refusal.message)} ({_RESPONSES})"
        if ends_run:
            self.fatal = self.complaint
        return _shown_refusal(dialect, cause, reply.status)

    def _concerns_all(self, reply: Reply) -> bool:
        """Return whether a refusal says that all requests of the run are refused."""
        failure = self._rules.failure(reply, self._rules.cause(reply))
        return not isinstance(failure, RequestError)

    def _reason(self, reply: Reply) -> str:
        return f"the server says {self._rules.clean(reply.problem)}"

    async def _is_refused_for_good(self, dialect: Dialect) -> bool:
        """Return whether the server also refuses a request that no agent wrote.

        A firewall, or words of the agent that an error repeats, must not end the run.
        """
        request = {"model": self.model, **dialect.probe, **self._body}
        reply = await self._server.send(self._with_limit(dialect, request), dialect.form)
        if reply.is_billed:
            self._budget.add(reply.tokens)
        return bool(reply.status and reply.problem) and self._concerns_all(reply)

    def _miss(self, status: int, reason: str, retry_after: str = "") -> HttpAnswer:
        """Note that a request has no answer."""
        self.failure = reason
        self.usage.refused += 1
        return _refusal(status, "The server gave no answer.")._replace(retry_after=retry_after)

    def _take(self, dialect: Dialect, reply: Reply, request: Request) -> HttpAnswer:
        """Return an answer, which may be a stream that breaks off."""
        self._check_limit(dialect, reply, request)
        if reply.break_off:
            return self._miss(502, f"the answer broke off: {self._rules.clean(reply.break_off)}")
        self.failure = ""
        self._has_answer = True
        kind = one_line(reply.response.headers.get("Content-Type") or _JSON)[:100]
        return HttpAnswer(200, reply.response.content, kind)

    def _check_limit(self, dialect: Dialect, reply: Reply, request: Request) -> None:
        """Send the token limit by its older name from now on, if the server ignored it."""
        name = self._limit_name(dialect)
        limit = request.get(name)
        if reply.tokens and self._rules.is_limit_ignored(reply.tokens, name, limit):
            self._limit_number = 1


def _models(model: str) -> HttpAnswer:
    """Return the list of models: the one that is relayed."""
    entry = {"id": model, "object": "model", "created": 0, "owned_by": "lmrbench"}
    return _json(200, {"object": "list", "data": [entry]})


def _shown_refusal(dialect: Dialect, cause: Cause | None, status: int) -> HttpAnswer:
    """Return what the agent is told of a refusal, without the server's words."""
    if cause is Cause.LENGTH:
        return _refusal(400, dialect.too_long, "context_length_exceeded")
    if cause is Cause.FILTER:
        return _refusal(400, "A content filter refused this request.", "content_filter")
    return _refusal(status, f"The server refused this request ({status}).")


def _refusal(status: int, message: str, code: str = "relay") -> HttpAnswer:
    error = {"message": message, "type": "relay", "param": None, "code": code}
    return _json(status, {"type": "error", "error": error})


def _is_busy(dialect: Dialect, reply: Reply) -> bool:
    """Return whether the relay waits for the server."""
    return dialect.waits and reply.status in _BUSY and reply.is_passing


def _json(status: int, value: Any) -> HttpAnswer:
    return HttpAnswer(status, json.dumps(value).encode())
