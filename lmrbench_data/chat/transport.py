"""Send requests to one model server and to no other; answers are bounded in bytes and time.

The `openai` client sends them, once each, over connections that read within limits. Retries, dialects and costs are
left to the callers: `client` for our own requests, the relay for agents.
"""

import asyncio
import json
import ssl
import urllib.parse
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from ..base.errors import InputError
from ..base.text import one_line
from .address import OPENAI, is_plain_and_local, server_name

if TYPE_CHECKING:
    from types import TracebackType

    import httpx2

#: Bytes of an answer. The longest answers of models, with a log-probability for each token, stay far below.
MAX_ANSWER_BYTES = 8 * 2**20
#: Objects and lists in an answer: each takes up to a hundred times its bytes once it is parsed.
MAX_CONTAINERS = 400_000
JSON = "application/json"
_MAX_REDIRECTS = 3


class HttpAnswer(NamedTuple):
    """An answer of a server, whatever its status."""

    status: int
    body: bytes
    kind: str = JSON
    retry_after: str = ""


class NotAnswered(Exception):
    """A request that has no answer.

    `sent` is False if the request never reached the server and cost nothing; `unreachable` is True if nothing listens
    at the address; `final` is True if a retry cannot help.
    """

    def __init__(self, message: str, *, sent: bool, unreachable: bool = False, final: bool = False) -> None:
        super().__init__(message)
        self.sent, self.unreachable, self.final = sent, unreachable, final


class Transport:
    """Connections to one server; use as an asynchronous context manager.

    Args:
        base_url: its address; None for OpenAI's own.
        key: sent to this server only; empty for none.
        timeout_s: seconds for one request, from the first byte sent to the last one received.
    """

    def __init__(self, base_url: str | None, key: str, timeout_s: float) -> None:
        self._base, self._key, self._timeout_s = (base_url or OPENAI).rstrip("/"), key, timeout_s
        self.server = server_name(self._base)

    async def __aenter__(self) -> Self:
        import openai

        self._openai = openai.AsyncOpenAI(
            api_key=self._key or "no-key-is-needed",
            base_url=self._base,
            max_retries=0,
            timeout=self._timeout_s,
            # A compressed answer could expand beyond any limit.
            default_headers={"Accept-Encoding": "identity"},
            http_client=_bounded_client(is_local=is_plain_and_local(self._base)),
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: "TracebackType | None"
    ) -> None:
        await self._openai.close()

    async def send(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, timeout_s: float | None = None
    ) -> HttpAnswer:
        """Send one request, once.

        Args:
            path: below the base URL, such as `/chat/completions`.
            body: sent as JSON.
            timeout_s: seconds; those of the transport by default.

        Raises:
            NotAnswered: there is no answer, or it exceeds a limit.
            InputError: the server redirects to another one.
        """
        limit = min(timeout_s or self._timeout_s, self._timeout_s)
        url = self._base + path
        try:
            async with asyncio.timeout(limit):
                for _ in range(_MAX_REDIRECTS):
                    response = await self._send(method, url, body, limit)
                    if not 300 <= response.status_code < 400:
                        return _answer(response)
                    url = self._next(response, url)
        except TimeoutError as error:
            raise NotAnswered(f"no answer within {limit:g} s", sent=True) from error
        raise NotAnswered("the server redirects in a circle", sent=False, final=True)

    async def _send(self, method: str, url: str, body: Mapping[str, Any] | None, limit: float) -> "httpx2.Response":
        """Send one request; an HTTP error is an answer, too.

        Raises:
            NotAnswered: there is no answer, or it exceeds a limit.
        """
        import httpx2
        import openai

        try:
            if method == "GET":
                return await self._openai.get(url, cast_to=httpx2.Response, options={"timeout": limit})
            return await self._openai.post(url, cast_to=httpx2.Response, body=body, options={"timeout": limit})
        except openai.APIStatusError as error:
            return error.response
        except openai.APIConnectionError as error:
            cause = error.__cause__ if isinstance(error.__cause__, Exception) else error
            raise _not_answered(cause, limit) from error
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise _not_answered(error, limit) from error

    def _next(self, response: "httpx2.Response", url: str) -> str:
        """Return the target of a redirect within the same server.

        Raises:
            InputError: it leads to another server, or would drop the body.
        """
        try:
            target = urllib.parse.urljoin(url, response.headers.get("Location", ""))
            origin = _origin(target)
        except ValueError:
            target, origin = "nowhere", None
        if origin == _origin(url) and response.status_code in (307, 308):
            return str(target)
        shown = one_line(target.partition("?")[0].rpartition("@")[2])[:200]
        raise InputError(
            f"the server {self.server} redirects to {shown} (HTTP {response.status_code}); nothing was sent there. If "
            "you trust that address, give it as the base URL"
        )


def _bounded_client(*, is_local: bool) -> "httpx2.AsyncClient":
    """Return an HTTP client that reads bounded answers only."""
    import httpx2

    class Bounded(httpx2.AsyncByteStream):
        def __init__(self, stream: httpx2.AsyncByteStream) -> None:
            self._stream = stream

        async def __aiter__(self) -> AsyncIterator[bytes]:
            size = 0
            async for chunk in self._stream:
                size += len(chunk)
                if size > MAX_ANSWER_BYTES:
                    raise _too_long()
                yield chunk

        async def aclose(self) -> None:
            await self._stream.aclose()

    async def bound(response: httpx2.Response) -> None:
        packed = response.headers.get("Content-Encoding", "identity").strip().lower()
        if packed not in ("", "identity"):
            raise NotAnswered(f"the answer is compressed ({one_line(packed)[:40]})", sent=True, final=True)
        size = response.headers.get("Content-Length", "")
        if size.isdecimal() and len(size) < 20 and int(size) > MAX_ANSWER_BYTES:
            raise _too_long()
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = Bounded(response.stream)

    # A server on this machine needs no certificates, and loading those of all authorities takes a while.
    verify: ssl.SSLContext | bool = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if is_local else True
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=100)
    hooks = {"response": [bound]}
    return httpx2.AsyncClient(verify=verify, limits=limits, follow_redirects=False, event_hooks=hooks)


def _answer(response: "httpx2.Response") -> HttpAnswer:
    body = response.content
    if body.count(b"{") + body.count(b"[") > MAX_CONTAINERS:
        raise NotAnswered("the answer holds too many lists or objects", sent=True, final=True)
    kind = one_line(response.headers.get("Content-Type", JSON))[:100]
    retry_after = one_line(response.headers.get("Retry-After", ""))[:40]
    return HttpAnswer(response.status_code, body, kind, retry_after)


def _not_answered(error: Exception, limit: float) -> NotAnswered:
    """Return the reason for a missing answer, given the client's exception."""
    import httpx2

    match error:
        case NotAnswered():
            return error
        case httpx2.ConnectTimeout() | httpx2.PoolTimeout():
            return NotAnswered(f"no connection within {limit:g} s", sent=False)
        case httpx2.TimeoutException():
            return NotAnswered(f"no answer within {limit:g} s", sent=True)
        case httpx2.ConnectError():
            return NotAnswered(_reason(error), sent=False, unreachable=True)
        case httpx2.UnsupportedProtocol() | httpx2.ProxyError() | httpx2.InvalidURL():
            return NotAnswered(_reason(error), sent=False)
    return NotAnswered(f"the connection broke ({_reason(error)})", sent=True)


def _too_long() -> NotAnswered:
    return NotAnswered(f"the answer is longer than {MAX_ANSWER_BYTES >> 20} MiB", sent=True, final=True)


def _origin(url: str) -> tuple[str, str, int | None]:
    parts = urllib.parse.urlsplit(url)
    return parts.scheme, parts.hostname or "", parts.port or {"http": 80, "https": 443}.get(parts.scheme)


def _reason(error: Exception) -> str:
    return one_line(f"{type(error).__name__}: {error}".removesuffix(": "))[:200]


def parse(body: bytes) -> Any:
    """Return the JSON value of a body; None if it is not JSON."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None
