"""A model server: its address, its key and the connection to it; the address as files record it, without secrets."""

import asyncio
import contextlib
import os
import ssl
import zlib
from typing import TYPE_CHECKING, Any

from ..base.errors import ArgumentError, InputError
from ..base.finish_reasons import Ending, ending
from ..base.text import one_line
from .budget import Budget, CostLimitError, Tokens, read_tokens
from .refusals import Cause, Refusal, get, status_inside

if TYPE_CHECKING:
    import httpx2
    from openai import AsyncOpenAI

OPENAI = "https://api.openai.com/v1"
#: Where a response states why it counts as an error.
REASON = "lmrbench"
#: Where a response without an answer that may be billed states its tokens, None if they are unknown.
BILLED = "lmrbench_billed"
#: A reply has at most this size, unpacked.
MAX_REPLY_BYTES = 32 * 2**20
#: Statuses of gateways that stopped waiting: the server behind them may still answer, and bill.
_LOST = (504, 524)


def address(base_url: str | None) -> str:
    """Return the address of the server, from the option or from OpenAI's environment variable."""
    return base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI


def address_and_key(base_url: str | None) -> tuple[str, str]:
    """Return the address and the key; raise InputError if one is missing or malformed."""
    url, key = address(base_url), os.environ.get("OPENAI_API_KEY", "").strip()
    if url == OPENAI and not key:
        raise InputError("no OPENAI_API_KEY: set it, or name another server (a local one needs no key)")
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
        raise ArgumentError("base_url", f"{shown!r} is not an address, for example http://localhost:8000/v1")
    return f"{url.scheme}://{url.netloc.decode()}{url.path.rstrip('/')}"


def connect(url: str, key: str, *, timeout_s: float, retries: int = 0, budget: Budget | None = None) -> "AsyncOpenAI":
    """Return a client of one server, which sends the key to no other; close it after use.

    A query in the address, such as Azure's `api-version`, is part of each request. The certificates and the proxy of
    the environment are used, the proxy not for this machine; InputError if they cannot be, or if the server's
    certificate is not trusted. A try takes at most `timeout_s`; it raises CostLimitError if the budget forbids it, and
    the budget counts those that may be billed but gave no answer.
    """
    import httpx2
    import openai

    costs = budget or Budget()

    class Client(openai.DefaultAsyncHttpxClient):
        async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
            if why := costs.why:
                raise CostLimitError(why)
            try:
                response = await super().send(request, **{**options, "stream": True})
                async with asyncio.timeout(timeout_s):  # a body may drip for ever
                    response = await _read(response)
            except (TimeoutError, httpx2.ReadTimeout):
                costs.add(None)
                raise httpx2.ReadTimeout(f"no answer within {timeout_s:g} s", request=request) from None
            except (httpx2.ConnectError, ssl.SSLError) as error:
                if "CERTIFICATE_VERIFY_FAILED" not in str(error):
                    raise
                fix = "name the certificate of its authority in SSL_CERT_FILE or SSL_CERT_DIR"
                reason = one_line(error)[:200]
                raise InputError(f"the certificate of {server_name(url)} is not trusted ({reason}); {fix}") from error
            _correct_status(response, costs)
            return response

    parts = httpx2.URL(url)
    is_local = parts.host in ("localhost", "::1") or parts.host.startswith("127.")
    headers = {"Accept-Encoding": "identity"}
    if key and "api-version" in parts.params:  # Azure's deployments expect the key here
        headers["api-key"] = key
    certificates = False if is_local and parts.scheme == "http" else _certificates()
    try:
        client = Client(verify=certificates, trust_env=not is_local, follow_redirects=False)
    except (ImportError, ValueError, httpx2.InvalidURL) as error:
        raise InputError(f"the proxy of the environment (HTTPS_PROXY) cannot be used: {one_line(error)}") from error
    return openai.AsyncOpenAI(
        api_key=key or "none-needed",
        base_url=parts.copy_with(query=None, fragment=None),
        default_query=dict(parts.params),
        default_headers=headers,
        max_retries=retries,
        timeout=timeout_s,
        http_client=client,
    )


def _certificates() -> ssl.SSLContext:
    """Return the certificates of authorities that the environment names, or those of the system."""
    import httpx2

    file, folder = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
    if not (file or folder):
        return httpx2.create_ssl_context()
    try:
        return ssl.create_default_context(cafile=file or None, capath=folder or None)
    except OSError as error:
        raise InputError(f"SSL_CERT_FILE or SSL_CERT_DIR cannot be used: {one_line(error)}") from error


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
            content = zlib.decompressobj(zlib.MAX_WBITS | 32).decompress(content, MAX_REPLY_BYTES + 1)
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
        extensions={REASON: problem} if problem else None,
    )
    whole.encoding = "utf-8"  # the header may name a codec that decodes no text
    return whole


def _correct_status(response: "httpx2.Response", costs: Budget) -> None:
    """Correct the status, so that the client retries what is worth a retry and nothing else.

    A reply without a completion has the status that it states, or 502; long prompts, system roles (400), no credit and
    redirects do not pass.
    """
    reply = json_of(response)
    if response.is_redirect:
        target = response.headers.get("Location", "").partition("?")[0].rpartition("@")[2]
        there = f"it redirects to {target} (HTTP {response.status_code}); nothing was sent there"
        response.extensions[REASON], response.status_code = f"{there}. If you trust it, name it instead", 302
        return
    if response.is_success and REASON in response.extensions:
        response.status_code = 502
        _give_up(response, costs)
    elif response.is_success and not response.headers.get("Content-Type", "").startswith("text/event-stream"):
        status, reason = _missing_answer(reply, response.text)
        if reason:
            response.extensions[REASON], response.status_code = reason, status
            is_completion = isinstance(get(reply, "choices"), list) and not get(reply, "error")
            if get(reply, "usage") or is_completion:
                _bill(response, costs, read_tokens(get(reply, "usage")))
    if response.status_code == 500 and Refusal.of(reply or response.text).cause() in (Cause.LENGTH, Cause.ROLE):
        response.status_code = 400
    # Words about a quota are also those of a passing limit.
    elif response.status_code == 429 and Refusal.of(reply)._replace(text="").cause() is Cause.CREDIT:
        response.status_code = 402
    elif response.status_code in _LOST:
        _give_up(response, costs)


def _missing_answer(reply: Any, text: str) -> tuple[int, str]:
    """Return the status that a successful reply without an answer deserves, and the reason; none for an answer."""
    choice = get(reply, "choices", 0)
    finish_reason = get(choice, "finish_reason")
    has_error = bool(get(reply, "error") or get(choice, "error"))
    is_choice = isinstance(choice, dict) and "delta" not in choice  # as in an event of a stream
    if is_choice and not has_error and (choice.get("message") is not None or finish_reason):
        gave_up = ending(finish_reason) is Ending.GAVE_UP
        return 502, f"the answer ended with an error: finish_reason {finish_reason}" if gave_up else ""
    if text.lstrip().startswith("<"):
        return 502, "the server's answer is not a chat completion but a web page (the address often ends in /v1)"
    refusal = Refusal.of(reply or text)
    kind = "the answer ended with an error" if get(choice, "error") else "the server's answer is not a chat completion"
    return status_inside(refusal), f"{kind}: {refusal.message or text[:200]}"


def _bill(response: "httpx2.Response", costs: Budget, tokens: Tokens | None) -> None:
    """Count a response without an answer that may be billed, once."""
    if BILLED not in response.extensions:
        response.extensions[BILLED] = tokens
        costs.add(tokens)


def _give_up(response: "httpx2.Response", costs: Budget) -> None:
    """Count a response that may be billed, and whose request would probably end the same way again."""
    _bill(response, costs, None)
    response.headers["x-should-retry"] = "false"  # the client obeys it


def json_of(response: "httpx2.Response") -> Any:
    """Return the JSON value of a response; None if it has none."""
    try:
        return response.json()
    except (ValueError, RecursionError):
        return None
