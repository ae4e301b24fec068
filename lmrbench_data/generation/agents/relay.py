"""The only way from an agent to the model: one server, one model, the key added on this side, everything counted.

Requests from a box are not trusted: they reach this server only, for chat completions of this model. Limits on steps
and costs are enforced here, regardless of the agent's own.
"""

import asyncio
import concurrent.futures
import contextlib
import json
import threading
from typing import TYPE_CHECKING, Any, NamedTuple

from ...base.text import one_line
from ...chat.budget import Budget, Tokens, read_tokens
from ...chat.refusals import LIMITS
from ...chat.server import REASON, address_and_key, connect, get
from .allowed import NotAllowed, read_request

if TYPE_CHECKING:
    import httpx2

STEP_LIMIT, COST_LIMIT, COST_UNKNOWN = "step_limit", "cost_limit", "cost_unknown"
#: Seconds for requests that are under way when an agent is done: nobody waits for their answers.
GRACE_S = 2.0
#: Statuses that are not an answer: the server is busy or broken, or does not take the key.
_NO_ANSWER = (401, 402, 403, 407, 408, 429)
_JSON = "application/json"


class HttpAnswer(NamedTuple):
    """An answer to an agent, whatever its status."""

    status: int
    body: bytes
    kind: str = _JSON
    retry_after: str = ""


class Relay:
    """Forwards one agent's requests and counts them; safe to call from several threads.

    Requests run on one event loop in a thread of its own, which alone changes the counts.

    Args:
        budget: of all agents of a run together.
        max_tokens: limit of each answer; None leaves it to the agent.
        request_s: seconds for one request.
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
    ) -> None:
        self.model, self._budget = model, budget
        self._max_steps, self._max_tokens = max_steps, max_tokens
        self._client = connect(*address_and_key(base_url), timeout_s=request_s)
        self._limit_name = LIMITS[0]
        self._loop, self._lock, self._is_closed = asyncio.new_event_loop(), threading.Lock(), False
        self._requests: set[concurrent.futures.Future[HttpAnswer]] = set()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()
        self.steps = 0
        """Requests that the server answered."""
        self.input_tokens = self.output_tokens = 0
        self.counted = True
        """True if the server reported the tokens of each answer."""
        self.cost_usd: float | None = 0.0
        """US dollars of all answers; None if the cost of one is unknown."""
        self.limit = ""
        """The limit that ended it; empty if none did."""
        self.failure = ""
        """The reason why the last request has no answer; empty if it has one."""

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
            return _refusal(404, "only POST /v1/chat/completions and GET /v1/models are relayed")
        try:
            request = read_request(body, self.model)
        except NotAllowed as error:
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
        await self._client.close()

    async def _forward(self, request: dict[str, Any]) -> HttpAnswer:
        """Ask the server within all limits."""
        if self._max_steps is not None and self.steps >= self._max_steps:
            self.limit = STEP_LIMIT
            return _refusal(403, f"the limit of {self._max_steps} steps is reached")
        if why := self._budget.why:
            self.limit = COST_UNKNOWN if self._budget.unknown else COST_LIMIT
            return _refusal(403, why)
        self.steps += 1  # at once, so that requests at the same time do not pass together
        is_step = False
        try:
            answer = await self._ask(request)
            if answer.status == 400 and self._max_tokens and self._limit_name.encode() in answer.body:
                self._limit_name = LIMITS[1]  # older servers know the limit by its older name
                answer = await self._ask(request)
            is_step = answer.status == 200
        finally:
            self.steps -= not is_step
        return answer

    async def _ask(self, request: dict[str, Any]) -> HttpAnswer:
        """Send one request and count its answer."""
        import httpx2
        import openai

        if self._max_tokens is not None:
            limits = [self._max_tokens, *(request[name] for name in LIMITS if name in request)]
            request = {name: value for name, value in request.items() if name not in LIMITS}
            request[self._limit_name] = min(limits)
        try:
            response = await self._client.post("/chat/completions", cast_to=httpx2.Response, body=request)
        except openai.APIStatusError as error:
            response = error.response
        except openai.APIConnectionError as error:
            self.failure = f"the server does not answer ({one_line(error.__cause__ or error)[:300]})"
            return _refusal(502, "no answer")
        if response.status_code >= 500 or response.status_code in _NO_ANSWER or REASON in response.extensions:
            reason = response.extensions.get(REASON) or one_line(response.text[:300])
            self.failure = f"the server says {response.status_code}: {reason}"
        else:
            self.failure = ""
        if response.status_code == 200:
            tokens = _usage(response)
            cost = self._budget.add(tokens)
            self.cost_usd = None if self.cost_usd is None or cost is None else self.cost_usd + cost
            self.counted = self.counted and tokens is not None
            self.input_tokens += tokens[0] if tokens else 0
            self.output_tokens += tokens[1] if tokens else 0
        kind, retry_after = (response.headers.get(name, "") for name in ("Content-Type", "Retry-After"))
        return HttpAnswer(
            response.status_code, response.content, one_line(kind or _JSON)[:100], one_line(retry_after)[:40]
        )


def _usage(response: "httpx2.Response") -> Tokens | None:
    """Return the tokens of a question and its answer; None if the server does not report them."""
    is_stream = response.headers.get("Content-Type", "").startswith("text/event-stream")
    for text in reversed(response.text.splitlines()) if is_stream else [response.text]:
        with contextlib.suppress(ValueError, RecursionError):
            if usage := read_tokens(get(json.loads(text.removeprefix("data:")), "usage")):
                return usage
    return None


def _refusal(status: int, message: str) -> HttpAnswer:
    return _json(status, {"error": {"message": message, "type": "relay", "param": None, "code": "relay"}})


def _json(status: int, value: Any) -> HttpAnswer:
    return HttpAnswer(status, json.dumps(value).encode())
