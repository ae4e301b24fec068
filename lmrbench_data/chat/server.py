"""A model server: its address and its key, the connection to it, and its name without secrets."""

import asyncio
import contextlib
import dataclasses
import os
import ssl
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..base.errors import ArgumentError, InputError
from ..base.text import one_line
from .answer_forms import CHAT, AnswerForm
from .reply import BROKEN_OFF, DAMAGE, Reply, read_reply

if TYPE_CHECKING:
    import httpx2

OPENAI = "https://api.openai.com/v1"
ANTHROPIC_KEY = "ANTHROPIC_API_KEY"
#: A reply has at most this size, unpacked.
MAX_REPLY_BYTES = 32 * 2**20
#: Encodings of a body that are read, although requests ask for none.
_ENCODINGS = ("", "identity", "gzip", "deflate")


def address(base_url: str | None) -> str:
    """Return the address of the server, from the option or from OpenAI's environment variable."""
    return base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI


def address_and_key(base_url: str | None) -> tuple[str, str]:
    """Return the address and the key; raise InputError if one is missing or malformed."""
    url = address(base_url)
    server_name(url)
    variable = key_variable(url)
    key = os.environ.get(variable, "").strip()
    if not key and (url == OPENAI or variable == ANTHROPIC_KEY):
        another = "name another server (a local one needs no key)"
        raise InputError(f"no {variable}: set it, or {another}")
    if not (key.isascii() and key.isprintable()):
        raise InputError(f"{variable} contains an invalid character; set it again")
    return url, key


def key_variable(url: str) -> str:
    """Return the environment variable that holds the key for a server."""
    return ANTHROPIC_KEY if _is_anthropic(url) else "OPENAI_API_KEY"


def _is_anthropic(url: str) -> bool:
    import httpx2

    host = httpx2.URL(url).host
    return host == "anthropic.com" or host.endswith(".anthropic.com")


def server_name(base_url: str | None) -> str:
    """Return an address in one spelling, without password, key or parameters.

    Raises:
        ArgumentError: the address is malformed.
    """
    import httpx2

    try:
        url = httpx2.URL(base_url or OPENAI)
    except httpx2.InvalidURL:
        url = httpx2.URL("")
    if url.scheme not in ("http", "https") or not url.host:
        shown = (base_url or "").rpartition("@")[2]
        raise ArgumentError(
            "base_url", f"{shown!r} is not an address, for example http://localhost:8000/v1"
        )
    return f"{url.scheme}://{url.netloc.decode()}{url.path.rstrip('/')}"


class Connection:
    """A connection to one server, which sends the key to no other; close it after use.

    A query in the address, such as Azure's `api-version`, is part of each request. Certificates
    and the proxy of the environment are used, except the proxy for servers on this machine.

    Raises:
        InputError: the certificates or the proxy cannot be used.
    """

    def __init__(self, url: str, key: str, timeout_s: float) -> None:
        import httpx2
        import openai

        self._url = url
        self._key = key
        self._timeout_s = timeout_s
        parts = httpx2.URL(url)
        headers = {"Accept-Encoding": "identity"}
        if key and "api-version" in parts.params:  # Azure's deployments expect the key here
            headers["api-key"] = key
        self._openai = openai.AsyncOpenAI(
            api_key=key or "none-needed",
            base_url=parts.copy_with(query=None, fragment=None),
            default_query=dict(parts.params),
            default_headers=headers,
            max_retries=0,
            timeout=timeout_s,
            http_client=_http_client(parts, timeout_s),
        )

    async def send(
        self,
        body: Mapping[str, Any],
        form: AnswerForm = CHAT,
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        """Ask once for an answer; InputError if the server's certificate is not trusted."""
        import httpx2
        import openai

        options: Any = {"headers": {**self._headers(form), **(headers or {})}}
        try:
            response = await self._openai.post(
                form.path, cast_to=httpx2.Response, body=dict(body), options=options
            )
        except openai.APIStatusError as error:
            response = error.response
        except openai.APIConnectionError as error:
            reply = self._no_reply(error.__cause__ or error)
            return dataclasses.replace(reply, form=form)
        return read_reply(response, form)

    def _headers(self, form: AnswerForm) -> dict[str, Any]:
        """Return the headers of a form, with the key where its servers expect it."""
        import openai

        headers: dict[str, Any] = dict(form.headers or {})
        if form.key_header and self._key:
            headers[form.key_header] = self._key
            if _is_anthropic(self._url):  # there, a bearer is the token of a login
                headers["Authorization"] = openai.Omit()
        return headers

    def _no_reply(self, error: BaseException) -> Reply:
        """Return the problem of a request that got no reply."""
        import httpx2

        if "CERTIFICATE_VERIFY_FAILED" in str(error):
            problem = f"the certificate of {server_name(self._url)} is not trusted"
            fix = "name the certificate of its authority in SSL_CERT_FILE or SSL_CERT_DIR"
            raise InputError(f"{problem} ({one_line(error)[:200]}); {fix}") from error
        if "WRONG_VERSION_NUMBER" in str(error):
            raise InputError(f"{server_name(self._url)} does not speak https; try http")
        is_late = isinstance(error, httpx2.ReadTimeout)
        problem = one_line(repr(error))[:200]
        if is_late:
            problem = f"no answer within {self._timeout_s:g} s"
        return Reply(httpx2.Response(0), 0, problem, is_billed=is_late)

    async def close(self) -> None:
        """Close the connection."""
        await self._openai.close()


def _http_client(url: "httpx2.URL", timeout_s: float) -> "httpx2.AsyncClient":
    """Return a client that follows no redirect and limits the time and size of each body."""
    import httpx2
    import openai

    class Client(openai.DefaultAsyncHttpxClient):
        async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
            response = await super().send(request, **{**options, "stream": True})
            try:
                async with asyncio.timeout(timeout_s):  # a body may drip for ever
                    return await _read(response)
            except TimeoutError as error:
                raise httpx2.ReadTimeout("", request=request) from error

    is_local = url.host in ("localhost", "::1") or url.host.startswith("127.")
    certificates = False if is_local and url.scheme == "http" else _certificates()
    try:
        return Client(verify=certificates, trust_env=not is_local, follow_redirects=False)
    except (ImportError, ValueError, httpx2.InvalidURL) as error:
        problem = f"the proxy of the environment (HTTPS_PROXY) cannot be used: {one_line(error)}"
        raise InputError(problem) from error


def _certificates() -> ssl.SSLContext:
    """Return the certificates of authorities that the environment names, or those of the system."""
    import httpx2

    file = os.environ.get("SSL_CERT_FILE") or None
    folder = os.environ.get("SSL_CERT_DIR") or None
    if not (file or folder):
        return httpx2.create_ssl_context()
    try:
        return ssl.create_default_context(cafile=file, capath=folder)
    except OSError as error:
        problem = f"SSL_CERT_FILE or SSL_CERT_DIR cannot be used: {one_line(error)}"
        raise InputError(problem) from error


async def _read(response: "httpx2.Response") -> "httpx2.Response":
    """Return a response with its whole body, or with the reason why the body cannot be read."""
    import httpx2

    async with contextlib.aclosing(response):
        content, problem = await _unpack(response)
    headers = httpx2.Headers(response.headers)
    headers.pop("Content-Encoding", None)
    whole = httpx2.Response(
        response.status_code,
        headers=headers,
        content=content,
        request=response.request,
        extensions={DAMAGE: problem},
    )
    whole.encoding = "utf-8"  # the header may name a codec that decodes no text
    return whole


async def _unpack(response: "httpx2.Response") -> tuple[bytes, str]:
    """Return the unpacked body of a response, or nothing and the reason."""
    import httpx2

    encoding = response.headers.get("Content-Encoding", "").strip().lower()
    if encoding not in _ENCODINGS:
        problem = f"the server compresses its answer ({encoding[:40]}), which the request forbids"
        return b"", problem
    body = bytearray()
    try:
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) > MAX_REPLY_BYTES:
                return b"", f"the server's answer has more than {MAX_REPLY_BYTES >> 20} MiB"
    except httpx2.DecodingError:
        return b"", f"the server's answer is damaged ({encoding})"
    except (httpx2.ReadError, httpx2.RemoteProtocolError) as error:
        if not response.headers.get("Content-Type", "").startswith("text/event-stream"):
            return b"", BROKEN_OFF
        return b"", f"the stream was cut ({one_line(error)[:200]})"
    return bytes(body), ""
