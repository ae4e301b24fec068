"""The only way from an agent to the model: one server, one model, the key added on this side, everything counted.

Requests from a box are not trusted: they reach this server only, for chat completions of this model. Limits on steps
and costs are enforced here, regardless of the agent's own.
"""

import asyncio
import json
import threading
import time
from typing import Any

from ...base.errors import InputError
from ...base.text import one_line
from ...chat.address import address_and_key
from ...chat.budget import Budget, CostLimit, Place, Tokens, read_usage
from ...chat.completion import get
from ...chat.transport import JSON, HttpAnswer, NotAnswered, Transport, parse
from .allowed import NotAllowed, read_request
from .spending import ANSWERED, FREE, LOST, JobKey, Spending

STEP_LIMIT, COST_LIMIT, COST_UNKNOWN = "step_limit", "cost_limit", "cost_unknown"
#: Seconds for requests that are under way when an agent is done: nobody waits for their answers.
GRACE_S = 2.0
#: Statuses that are not an answer: the server is busy or broken, or does not take the key.
_NO_ANSWER = (401, 402, 403, 407, 408, 429)
_LIMITS = ("max_completion_tokens", "max_tokens")
#: One at a time is parsed.
_parsing = threading.Lock()


class Relay:
    """Forwards one agent's requests and counts them; safe to call from several threads.

    Args:
        budget: of all agents of a run together.
        spending: the log of requests.
        job: the job that makes the requests.
        max_tokens: limit of each answer; None leaves it to the agent.
        request_s: seconds for one request.
    """

    def __init__(
        self,
        model: str,
        base_url: str | None,
        *,
        budget: Budget,
        spending: Spending | None = None,
        job: JobKey = ("", 0),
        max_steps: int | None = None,
        max_tokens: int | None = None,
        request_s: float = 600.0,
    ) -> None:
        self._base_url, self._key = address_and_key(base_url)
        self.model, self._budget = model, budget
        self._spending, self._job = spending or Spending(), job
        self._max_steps, self._max_tokens, self._request_s = max_steps, max_tokens, request_s
        self._lock = threading.Lock()
        self._closed, self._idle = threading.Event(), threading.Condition()
        self._under_way: dict[int, tuple[asyncio.AbstractEventLoop, asyncio.Task[HttpAnswer]]] = {}
        self._busy = 0
        self._limit_name = _LIMITS[0]
        self.steps = 0
        """Requests that the server answered."""
        self.input_tokens = self.output_tokens = 0
        self.counted = True
        """True if the server reported the tokens of each answer."""
        self.lost = 0
        """Requests that have no answer and may have cost something."""
        self.lost_usd = 0.0
        """The most that these can have cost."""
        self.limit = ""
        """The limit that ended it; empty if none did."""
        self.failure = ""
        """The reason why the last request has no answer; empty if it has one."""

    @property
    def cost_usd(self) -> float | None:
        """US dollars of all answers; None if a price or a count is missing, or a request has no answer."""
        if self._budget.price is None or not self.counted or self.lost:
            return None
        return self._budget.price.cost(self.input_tokens, self.output_tokens)

    def close(self) -> None:
        """Forward nothing from now on."""
        self._closed.set()

    def finish(self) -> None:
        """Forward nothing more, and cut off requests still under way after a moment; then the numbers are final."""
        self.close()
        until = time.monotonic() + GRACE_S
        with self._idle:
            self._idle.wait_for(lambda: not self._busy, GRACE_S)
            for loop, task in self._under_way.values():
                loop.call_soon_threadsafe(task.cancel)
            self._idle.wait_for(lambda: not self._busy, max(0.0, until - time.monotonic()) + GRACE_S)

    def answer(self, method: str, path: str, body: bytes) -> HttpAnswer:
        """Return the answer to a request of the agent."""
        path = path.partition("?")[0].rstrip("/").removeprefix("/v1")
        if (method, path) == ("GET", "/models"):
            entry = {"id": self.model, "object": "model", "created": 0, "owned_by": "lmrbench"}
            return _json(200, {"object": "list", "data": [entry]})
        if (method, path) != ("POST", "/chat/completions"):
            return _refusal(404, "only POST /v1/chat/completions and GET /v1/models are relayed")
        try:
            asked = read_request(body, self.model)
        except NotAllowed as error:
            return _refusal(400, str(error))
        with self._idle:
            self._busy += 1
        try:
            return self._forward(asked)
        finally:
            with self._idle:
                self._busy -= 1
                self._idle.notify_all()

    def _forward(self, asked: dict[str, Any]) -> HttpAnswer:
        """Ask the server within all limits."""
        with self._lock:
            if self._max_steps is not None and self.steps >= self._max_steps:
                self.limit = STEP_LIMIT
                return _refusal(403, f"the limit of {self._max_steps} steps is reached")
            self.steps += 1  # at once, so that requests at the same time do not pass together
        try:
            said = self._ask(asked)
            if said.status == 400 and self._max_tokens and self._limit_name.encode() in said.body:
                # Older servers know the limit of tokens by its older name.
                self._limit_name = _LIMITS[1]
                said = self._ask(asked)
        except CostLimit as error:
            self.limit = COST_UNKNOWN if self._budget.uncounted else COST_LIMIT
            said = _refusal(403, str(error))
        if said.status != 200:  # a request that the server rejects is not a step
            with self._lock:
                self.steps -= 1
        return said

    def _ask(self, asked: dict[str, Any]) -> HttpAnswer:
        """Reserve, send and settle one request.

        Raises:
            CostLimit: the budget does not allow it.
        """
        limits = [asked[name] for name in _LIMITS if name in asked]
        if self._max_tokens is not None:
            limits = [min([self._max_tokens, *limits])]
            asked = {name: value for name, value in asked.items() if name not in _LIMITS}
            asked[self._limit_name] = limits[0]
        size = len(json.dumps(asked).encode())
        place = self._budget.wait(size, max(limits, default=None), self._closed.wait)
        if place is None or self._closed.is_set():
            if place:
                self._budget.release(place)
            return _refusal(403, "time is up")
        number = self._spending.begin(self._job, place)
        try:
            said = asyncio.run(self._send(number, asked))
        except NotAnswered as error:
            self._end(number, place, LOST if error.sent else FREE)
            return self._failed(f"the server does not answer ({error})", _refusal(502, "no answer"))
        except InputError as error:
            self._end(number, place, FREE)
            return self._failed(str(error), _refusal(502, "no answer"))
        except asyncio.CancelledError:
            self._end(number, place, LOST)
            return _refusal(403, "time is up")
        except BaseException:
            self._end(number, place, LOST)
            raise
        if said.status >= 500 or said.status in _NO_ANSWER:
            self._end(number, place, FREE)
            text = one_line(said.body[:300].decode("utf-8", "replace"))
            return self._failed(f"the server says {said.status}: {text}", said)
        self.failure = ""
        if said.status == 200:
            self._end(number, place, ANSWERED, _usage(said))
        else:
            self._end(number, place, FREE)
        return said

    async def _send(self, number: int, asked: dict[str, Any]) -> HttpAnswer:
        task = asyncio.ensure_future(self._exchange(asked))
        with self._idle:
            self._under_way[number] = asyncio.get_running_loop(), task
            if self._closed.is_set():
                task.cancel()
        try:
            return await task
        finally:
            with self._idle:
                del self._under_way[number]

    async def _exchange(self, asked: dict[str, Any]) -> HttpAnswer:
        async with Transport(self._base_url, self._key, self._request_s) as transport:
            return await transport.send("POST", "/chat/completions", asked)

    def _end(self, number: int, place: Place, event: str, tokens: Tokens | None = None) -> None:
        """Count a request that is over."""
        cost = None
        if event == ANSWERED:
            cost = self._budget.settle(place, tokens)
        elif event == FREE:
            self._budget.release(place)
        else:
            self._budget.lose(place)
        self._spending.end(number, event, tokens, cost)
        with self._lock:
            if event == LOST:
                self.lost += 1
                self.lost_usd += place.usd or 0.0
            elif event == ANSWERED and tokens:
                self.input_tokens += tokens[0]
                self.output_tokens += tokens[1]
            elif event == ANSWERED:
                self.counted = False

    def _failed(self, reason: str, answer: HttpAnswer) -> HttpAnswer:
        self.failure = reason
        return answer


def _usage(answer: HttpAnswer) -> Tokens | None:
    """Return the tokens of a question and its answer; None if the server does not report them."""
    texts = [answer.body]
    if answer.kind.startswith("text/event-stream"):
        texts = [line[5:] for line in reversed(answer.body.splitlines()) if line.startswith(b"data:")]
    with _parsing:
        return next((found for text in texts if (found := read_usage(get(parse(text), "usage")))), None)


def _refusal(status: int, message: str) -> HttpAnswer:
    return _json(status, {"error": {"message": message, "type": "relay", "param": None, "code": "relay"}})


def _json(status: int, value: Any) -> HttpAnswer:
    return HttpAnswer(status, json.dumps(value).encode(), JSON)
