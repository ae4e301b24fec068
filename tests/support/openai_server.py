"""A loopback model server: scripted answers in any dialect, faults included, over real HTTP.

`Server.judge` returns the model's replies; `Server.script` holds earlier faults, one entry per request.
"""

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from email.message import Message
from typing import Any

from support.loopback import LoopbackHandler, LoopbackServer


@dataclass(frozen=True)
class Reply:
    """An HTTP response.

    Attributes:
        body: JSON value, or raw bytes.
        delay_s: seconds before it is sent.
        cut: number of bytes missing from the body when the connection closes.
    """

    status: int = 200
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    delay_s: float = 0.0
    cut: int = 0


@dataclass(frozen=True)
class Request:
    """A client's request."""

    path: str
    headers: Message
    body: dict[str, Any]
    at: float

    @property
    def user(self) -> str:
        """Return the user's first message."""
        return next(message["content"] for message in self.body["messages"] if message["role"] == "user")


def opinion(category: Any = "CC", **fields: Any) -> str:
    """Return a well-formed judgement."""
    points = ["scale() multiplies each value.", "An empty list gives an empty list."]
    texts = {"algorithm": "Each value is multiplied.", "implementation": "A comprehension does it."}
    return json.dumps({**texts, "rationale": points, "category": category, **fields})


def completion(content: str | None, *, finish_reason: str = "stop", usage: Any = (1000, 100)) -> dict[str, Any]:
    """Return the body of a chat completion."""
    message = {"role": "assistant", "content": content}
    tokens = {"prompt_tokens": usage[0], "completion_tokens": usage[1], "total_tokens": sum(usage)} if usage else None
    choice = {"index": 0, "message": message, "finish_reason": finish_reason}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "served",
        "choices": [choice],
        **({"usage": tokens} if tokens else {}),
    }


class Server(LoopbackServer):
    """The server's behaviour and the requests that it received.

    Attributes:
        script: replies to the next requests, used before `judge`; a callable receives the request.
        judge: returns the content of the model's reply; a Reply is sent unchanged.
        refuses: parameters rejected with a 400 that names them.
        requests: the requests received.
    """

    def __init__(self) -> None:
        super().__init__(_handler(self))
        self.script: list[Reply] = []
        self.judge: Callable[[Request], str | Reply] = lambda request: opinion()
        self.refuses: Sequence[str] = ()
        self.key = ""
        self.requests: list[Request] = []
        self._lock = threading.Lock()

    @property
    def base_url(self) -> str:
        """Return the address that clients are given."""
        return f"{self.endpoint}/v1"

    def reply(self, request: Request) -> Reply:
        """Return the response to a request."""
        with self._lock:
            self.requests.append(request)
            scripted = self.script.pop(0) if self.script else None
        if scripted:
            return scripted
        if request.path not in ("/v1/chat/completions", "/v1/responses", "/v1/messages"):
            return Reply(404, {"detail": "Not Found"})
        if self.key and request.headers.get("Authorization") != f"Bearer {self.key}":
            wrong = request.headers.get("Authorization", "").removeprefix("Bearer ")
            return Reply(401, {"error": {"message": f"Incorrect API key provided: {wrong}", "code": "invalid_api_key"}})
        if refused := next((name for name in self.refuses if name in request.body), None):
            message = f"Unsupported value: '{refused}' does not support that with this model."
            return Reply(400, {"error": {"message": message, "type": "invalid_request_error", "param": refused}})
        said = self.judge(request)
        return said if isinstance(said, Reply) else Reply(body=completion(said))


def _handler(server: Server) -> type[LoopbackHandler]:
    class Handler(LoopbackHandler):
        def do_POST(self) -> None:
            body = json.loads(self.content() or b"{}")
            reply = server.reply(Request(self.path, self.headers, body, time.monotonic()))
            time.sleep(reply.delay_s)
            content = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
            self.respond(reply.status, {"Content-Type": "application/json", **reply.headers}, content, reply.cut)
            self.close_connection = bool(reply.cut)

        do_GET = do_POST

        def handle(self) -> None:
            try:
                super().handle()
            except ConnectionError:
                self.close_connection = True  # a client that was killed

    return Handler
