"""A model server: its address, its key and the connection to it; the address as files record it, without secrets."""

import asyncio
import contextlib
import os
import ssl
import zlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..base.errors import ArgumentError, InputError
from ..base.text import one_line
from .reply import DAMAGE, Reply, read_reply

if TYPE_CHECKING:
    import httpx2

OPENAI = "https://api.openai.com/v1"
#: A reply has at most this size, unpacked.
MAX_REPLY_BYTES = 32 * 2**20


def address(base_url: str | None) -> str:
    """Return the address of the server, from the option or from OpenAI's environment variable."""
    return base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI


def address_and_key(base_url: str | None) -> tuple[str, str]:
    """Return the address and the key; raise InputError if one is missing or malformed."""
    url, key = address(base_url), os.environ.get("OPENAI_API_KEY", "").strip()
    if url == OPENAI and not key:
        raise InputError(
            "no OPENAI_API_KEY: set it, or name another server (a local one needs no key)"
        )
    if not (key.isascii() and key.isprintable()):
        raise InputError("OPENAI_API_KEY contains an invalid character; set it again")
    server_name(url)
    return url, key


def server_name(base_url: str | None) -> str:
    """Return an address in one spelling, without password, key or parameters; raise InputError for a malformed one."""
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

    A query in the address, such as Azure's `api-version`, is part of each request. The certificates and the proxy of
    the environment are used, the proxy not for this machine; InputError if they cannot be.
    """

    def __init__(self, url: str, key: str, timeout_s: float) -> None:
        import httpx2
        import openai

        self._url, self._timeout_s = url, timeout_s
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

    async def send(self, body: Mapping[str, Any]) -> Reply:
        """Ask once for a chat completion; InputError if the server's certificate is not trusted."""
        import httpx2
        import openai

        try:
            response = await self._openai.post(
                "/chat/completions", cast_to=httpx2.Response, body=dict(body)
            )
        except openai.APIStatusError as error:
            response = error.response
        except openai.APIConnectionError as error:
            return self._no_reply(error.__cause__ or error)
        return read_reply(response)

    def _no_reply(self, error: BaseException) -> Reply:
        """Return the problem of a request that got no reply."""
        import httpx2

        nothing = httpx2.Response(0)
        if isinstance(error, httpx2.ReadTimeout):
            return Reply(nothing, 0, f"no answer within {self._timeout_s:g} s", is_billed=True)
        if "CERTIFICATE_VERIFY_FAILED" not in str(error):
            return Reply(nothing, 0, one_line(repr(error))[:200])
        fix = "name the certificate of its authority in SSL_CERT_FILE or SSL_CERT_DIR"
        server = server_name(self._url)
        raise InputError(
            f"the certificate of {server} is not trusted ({one_line(error)[:200]}); {fix}"
        ) from error

    async def close(self) -> None:
        """Close the connection."""
        await self._openai.close()


def _http_client(url: "httpx2.URL", timeout_s: float) -> "httpx2.AsyncClient":
    """Return a client that follows no redirect and reads each body within limits of time and size."""
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
        raise InputError(
            f"the proxy of the environment (HTTPS_PROXY) cannot be used: {one_line(error)}"
        ) from error


def _certificates() -> ssl.SSLContext:
    """Return the certificates of authorities that the environment names, or those of the system."""
    import httpx2

    file, folder = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
    if not (file or folder):
        return httpx2.create_ssl_context()
    try:
        return ssl.create_default_context(cafile=file or None, capath=folder or None)
    except OSError as error:
        raise InputError(
            f"SSL_CERT_FILE or SSL_CERT_DIR cannot be used: {one_line(error)}"
        ) from error


async def _read(response: "httpx2.Response") -> "httpx2.Response":
    """Return a response with its whole body, read as UTF-8; without it if it is too large or cannot be unpacked."""
    import httpx2

    body = bytearray()
    async with contextlib.aclosing(response):
        async for chunk in response.aiter_raw():
            body += chunk
            if len(body) > MAX_REPLY_BYTES:
                break
    content, problem = bytes(body), ""
    encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
    if encoding in ("gzip", "x-gzip", "deflate"):
        try:
            content = zlib.decompressobj(zlib.MAX_WBITS | 32).decompress(
                content, MAX_REPLY_BYTES + 1
            )
        except zlib.error:
            problem = f"the server's answer is damaged ({encoding})"
    elif encoding not in ("identity", ""):
        problem = f"the server compresses its answer ({encoding[:40]}), which the request forbids"
    if len(content) > MAX_REPLY_BYTES:
        problem = f"the server's answer has more than {MAX_REPLY_BYTES >> 20} MiB"
    whole = httpx2.Response(
        response.status_code,
        headers=[item for item in response.headers.multi_items() if item[0] != "content-encoding"],
        content=b"" if problem else content,
        request=response.request,
        extensions={DAMAGE: problem} if problem else None,
    )
    whole.encoding = "utf-8"  # the header may name a codec that decodes no text
    return whole
