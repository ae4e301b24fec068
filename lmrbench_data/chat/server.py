"""A model server: its address, its key and the connection to it; the address as files record it, without secrets."""

import asyncio
import os
from typing import TYPE_CHECKING, Any

from ..base.errors import ArgumentError, InputError
from ..base.text import one_line
from .budget import Budget, CostLimitError, read_tokens
from .refusals import Cause, Refusal

if TYPE_CHECKING:
    import httpx2
    from openai import AsyncOpenAI

OPENAI = "https://api.openai.com/v1"
#: Where a response states why it counts as an error.
REASON = "lmrbench"


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

    A query in the address, such as Azure's `api-version`, is part of each request. The proxy of the environment is
    used, but not for this machine; InputError if it cannot be. A try takes at most `timeout_s`; it raises
    CostLimitError if the budget forbids it, and the budget counts those that may be billed but gave no answer.
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
                    await response.aread()
            except (TimeoutError, httpx2.ReadTimeout):
                costs.add(None)
                raise httpx2.ReadTimeout(f"no answer within {timeout_s:g} s", request=request) from None
            _correct_status(response, costs)
            return response

    parts = httpx2.URL(url)
    is_local = parts.host in ("localhost", "::1") or parts.host.startswith("127.")
    try:
        client = Client(trust_env=not is_local, follow_redirects=False)
    except (ImportError, ValueError, httpx2.InvalidURL) as error:
        raise InputError(f"the proxy of the environment (HTTPS_PROXY) cannot be used: {one_line(error)}") from error
    return openai.AsyncOpenAI(
        api_key=key or "none-needed",
        base_url=parts.copy_with(query=None, fragment=None),
        default_query=dict(parts.params),
        # Azure's deployments expect the key here.
        default_headers={"api-key": key} if key and "api-version" in parts.params else None,
        max_retries=retries,
        timeout=timeout_s,
        http_client=client,
    )


def _correct_status(response: "httpx2.Response", costs: Budget) -> None:
    """Correct the status, so that the client retries what is worth a retry and nothing else.

    No completion is the server's fault (502); long prompts, system roles (400), no credit and redirects do not pass.
    """
    status, reply = response.status_code, json_of(response)
    choice, reason = get(reply, "choices", 0), ""
    if response.is_redirect:
        target = response.headers.get("Location", "").partition("?")[0].rpartition("@")[2]
        reason = f"it redirects to {target} (HTTP {status}); nothing was sent there. If you trust it, name it instead"
        response.extensions[REASON], response.status_code = reason, 302
    elif response.is_success and not response.headers.get("Content-Type", "").startswith("text/event-stream"):
        if get(choice, "message") is None:
            reason = f"the server's answer is not a chat completion: {response.text[:200]}"
        elif choice.get("error") or choice.get("finish_reason") == "error":
            reason = f"the answer ended with an error: {get(choice, 'error', 'message') or 'finish_reason error'}"
        if reason:
            response.extensions[REASON], response.status_code = reason, 502
            if isinstance(reply, dict) and ("usage" in reply or "choices" in reply):
                costs.add(read_tokens(reply.get("usage")))
    elif status == 500 and Refusal.of(reply or response.text).cause() in (Cause.LENGTH, Cause.ROLE):
        response.status_code = 400
    # Words about a quota are also those of a passing limit.
    elif status == 429 and Refusal.of(reply)._replace(text="").cause() is Cause.CREDIT:
        response.status_code = 402


def json_of(response: "httpx2.Response") -> Any:
    """Return the JSON value of a response; None if it has none."""
    try:
        return response.json()
    except (ValueError, RecursionError):
        return None


def get(value: Any, *path: str | int) -> Any:
    """Return what lies at a path of names and positions in a JSON value; None if nothing does."""
    try:
        for step in path:
            value = value[step]
    except (LookupError, TypeError):
        return None
    return value
