"""The one way from an agent to the model: one server, one model, the key added on this side, everything counted.

What comes out of a box is not trusted: it can ask this server for chat completions of this model, and nothing else.
Limits on steps and costs hold here, whatever the agent itself thinks of them.
"""

import json
import threading
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ...chat.address import OPENAI, address_and_key
from ...chat.prices import Price
from ...text import one_line

STEP_LIMIT, COST_LIMIT = "step_limit", "cost_limit"
MAX_BODY = 32 * 2**20
#: Statuses that are no answer: the server is busy or broken, or does not take the key.
_NO_ANSWER = (401, 402, 403, 407, 408, 429)
_JSON = "application/json"


class Answer(NamedTuple):
    """What a relay says to an HTTP request."""

    status: int
    body: bytes
    kind: str = _JSON
    retry_after: str = ""


@dataclass
class Budget:
    """US dollars of all agents of a run together."""

    limit: float | None
    spent: float
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, cost: float) -> None:
        """Count the cost of an answer."""
        with self._lock:
            self.spent += cost

    @property
    def is_spent(self) -> bool:
        """Whether there is nothing left."""
        return self.limit is not None and self.spent >= self.limit


class Relay:
    """Forwards one agent's requests and counts them; safe to call from several threads."""

    def __init__(
        self,
        model: str,
        base_url: str | None,
        *,
        budget: Budget,
        price: Price | None = None,
        max_steps: int | None = None,
        request_s: float = 600.0,
    ) -> None:
        url, self._key = address_and_key(base_url)
        self._url = (url or OPENAI).rstrip("/")
        self.model, self._budget, self._price = model, budget, price
        self._max_steps, self._request_s = max_steps, request_s
        self._lock = threading.Lock()
        self._closed = False
        self.steps = 0
        """Requests that the server answered."""
        self.input_tokens = self.output_tokens = 0
        self.counted = True
        """Whether the server said of each answer how many tokens it took."""
        self.limit = ""
        """Which limit ended it, if one did."""
        self.failure = ""
        """Why the last request has no answer, if it has none."""

    @property
    def cost_usd(self) -> float | None:
        """Of all answers; None if a price or a count is missing."""
        if self._price is None or not self.counted:
            return None
        return self._price.cost(self.input_tokens, self.output_tokens)

    def close(self) -> None:
        """From now on nothing is forwarded."""
        self._closed = True

    def answer(self, method: str, path: str, body: bytes) -> Answer:
        """The answer to a request of the agent's."""
        path = path.partition("?")[0].rstrip("/").removeprefix("/v1")
        if (method, path) == ("GET", "/models"):
            entry = {"id": self.model, "object": "model", "created": 0, "owned_by": "lmrbench"}
            return _json(200, {"object": "list", "data": [entry]})
        if (method, path) != ("POST", "/chat/completions"):
            return _refusal(404, "only POST /v1/chat/completions and GET /v1/models are relayed")
        try:
            asked: Any = json.loads(body)
            model, messages = asked["model"], asked["messages"]
        except (ValueError, LookupError, TypeError, RecursionError):
            return _refusal(400, "the body must be a JSON object with model and messages")
        if model != self.model or not isinstance(messages, list):
            return _refusal(400, f"the model of this run is {self.model!r}; no other is relayed")
        if asked.get("n") not in (None, 1):
            return _refusal(400, "one answer a request is relayed; leave out n")
        if refused := self._over_limit():
            return refused
        if asked.get("stream"):
            asked["stream_options"] = {"include_usage": True}
        return self._forward(asked)

    def _over_limit(self) -> Answer | None:
        with self._lock:
            if self._closed:
                return _refusal(403, "time is up")
            if self._max_steps is not None and self.steps >= self._max_steps:
                self.limit = STEP_LIMIT
                return _refusal(403, f"the limit of {self._max_steps} steps is reached")
            if self._budget.is_spent:
                self.limit = COST_LIMIT
                return _refusal(403, "the money for this run is spent")
            self.steps += 1  # at once, so that requests at the same time do not pass together
            return None

    def _forward(self, asked: dict[str, Any]) -> Answer:
        headers = {"Content-Type": _JSON, **({"Authorization": f"Bearer {self._key}"} if self._key else {})}
        request = urllib.request.Request(f"{self._url}/chat/completions", json.dumps(asked).encode(), headers)
        retry_after = ""
        try:
            with _opener.open(request, timeout=self._request_s) as response:
                status, kind, body = response.status, response.headers.get("Content-Type", _JSON), response.read()
        except urllib.error.HTTPError as error:
            with error:
                status, kind, body = error.code, error.headers.get("Content-Type", _JSON), error.read()
                retry_after = error.headers.get("Retry-After", "")
        except Exception as error:  # `http.client` has many kinds of its own
            return self._failed(f"the server does not answer ({one_line(error)[:200]})", _refusal(502, "no answer"))
        if status >= 500 or status in _NO_ANSWER or 300 <= status < 400:
            said = one_line(body[:300].decode("utf-8", "replace"))
            return self._failed(f"the server says {status}: {said}", Answer(status, body, kind, retry_after))
        self._count(status, kind, body)
        return Answer(status, body, kind)

    def _failed(self, reason: str, answer: Answer) -> Answer:
        with self._lock:
            self.failure = reason
            self.steps -= 1
        return answer

    def _count(self, status: int, kind: str, body: bytes) -> None:
        usage = _usage(body, kind)
        with self._lock:
            self.failure = ""
            if status != 200:  # what the server did not accept is no step
                self.steps -= 1
            elif usage is None:
                self.counted = False
            else:
                self.input_tokens += usage[0]
                self.output_tokens += usage[1]
                if self._price:
                    self._budget.add(self._price.cost(*usage))


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """The key goes to one server only."""

    def redirect_request(self, *_: Any) -> None:
        return None


_opener = urllib.request.build_opener(_NoRedirect())


def _usage(body: bytes, kind: str) -> tuple[int, int] | None:
    """Tokens of a question and its answer; None if the server does not say."""
    texts = [body]
    if kind.startswith("text/event-stream"):
        texts = [line[5:] for line in reversed(body.splitlines()) if line.startswith(b"data:")]
    for text in texts:
        try:
            usage = json.loads(text)["usage"]
            tokens = usage["prompt_tokens"], usage["completion_tokens"]
        except (ValueError, LookupError, TypeError, RecursionError):
            continue
        if all(type(number) is int and number >= 0 for number in tokens):
            return tokens
    return None


def _refusal(status: int, message: str) -> Answer:
    return _json(status, {"error": {"message": message, "type": "relay", "param": None, "code": "relay"}})


def _json(status: int, value: Any) -> Answer:
    return Answer(status, json.dumps(value).encode())
