"""A model server: its address, its key and the connection to it; the address as files record it, without secrets."""

import asyncio
import os
from typing import TYPE_CHECKING, Any

from ..base.errors import ArgumentError, InputError
from ..base.text import one_line
from .budget import Budget, CostLimit, read_tokens
from .refusals import Cause, Refusal

if TYPE_CHECKING:
    import httpx2
    import openai

OPENAI = "https://api.openai.com/v1"
#: Where a response states why it counts as an error.
REASON = "lmrbench"


def address(base_url: str | None) -> str:
    """Return the address of the server, from the option or from OpenAI's environment variable."""
    return base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI


def address_and_key(base_url: str | None) -> tuple[str, str]:
    """Return the address and the key, from the option and from OpenAI's environment variables.

    Raises:
        InputError: OpenAI's own servers need a key, the key cannot be sent, or the address is malformed.
    """
    url, key = address(base_url), os.environ.get("OPENAI_API_KEY", "").strip()
    if url == OPENAI and not key:
        raise InputError("no OPENAI_API_KEY: set it, or name another server (a local one needs no key)")
    if not (key.isascii() and key.isprintable()):
        raise InputError("OPENAI_API_KEY contains an invalid character; set it again")
    server_name(url)
    return url, key


def server_name(base_url: str | None) -> str:
    """Return the address of a server in one spelling, without password, key or other parameters.

    Raises:
        InputError: the address is malformed.
    """
    import httpx2

    try:
        url = httpx2.URL(base_url or OPENAI)
    except httpx2.InvalidURL:
        url = httpx2.URL("")
    if url.scheme not in ("http", "https") or not url.host:
        shown = (base_url or "").rpartition("@")[2]
        raise ArgumentError("base_url", f"{shown!r} is not an address; give one such as http://localhost:8000/v1")
    return f"{url.scheme}://{url.netloc.decode()}{url.path.rstrip('/')}"


def connect(
    url: str, key: str, *, timeout_s: float, retries: int = 0, budget: Budget | None = None
) -> "openai.AsyncOpenAI":
    """Return a client of one server, which sends the key to no other; close it after use.

    A query in the address, such as Azure's `api-version`, is part of each request. The proxy of the environment is
    used, but not for this machine. A try takes at most `timeout_s`.

    Args:
        budget: asked before each try, also a retry, and told of tries that may be billed but gave no answer. A try
            that it forbids raises CostLimit.

    Raises:
        InputError: the proxy of the environment cannot be used.
    """
    import httpx2
    import openai

    costs = budget or Budget()

    async def check(response: httpx2.Response) -> None:
        try:
            async with asyncio.timeout(timeout_s):  # a body may drip for ever
                await response.aread()
        except TimeoutError:
            raise httpx2.ReadTimeout(f"no answer within {timeout_s:g} s", request=response.request) from None
        is_success = response.is_success
        correct_status(response)
        reply = json_of(response) if is_success and REASON in response.extensions else None
        if isinstance(reply, dict) and ("usage" in reply or "choices" in reply):
            costs.add(read_tokens(reply.get("usage")))

    class Client(openai.DefaultAsyncHttpxClient):
        async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
            if why := costs.why:
                raise CostLimit(why)
            try:
                return await super().send(request, **options)
            except httpx2.ReadTimeout:
                costs.add(None)
                raise

    parts = httpx2.URL(url)
    is_local = parts.host in ("localhost", "::1") or parts.host.startswith("127.")
    try:
        client = Client(trust_env=not is_local, follow_redirects=False, event_hooks={"response": [check]})
    except (ImportError, ValueError, httpx2.InvalidURL) as error:
        proxy = "the proxy of the environment (such as HTTPS_PROXY)"
        raise InputError(f"{proxy} cannot be used: {one_line(error)}") from error
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


def correct_status(response: "httpx2.Response") -> None:
    """Correct the status of a response, so that the client retries what is worth a retry and nothing else.

    A reply without a completion is an error of the server (502). A prompt that is too long, a refusal of the system
    role (500), an account without credit (429) and a redirect (any 3xx becomes 302) will not go away.
    """
    status = response.status_code
    is_stream = response.headers.get("Content-Type", "").startswith("text/event-stream")
    if response.is_redirect:
        target = response.headers.get("Location", "").partition("?")[0].rpartition("@")[2]
        response.extensions[REASON] = (
            f"it redirects to {target} (HTTP {status}); nothing was sent there. If you trust that "
            "address, give it as the base URL"
        )
        response.status_code = 302
    elif response.is_success and not is_stream:
        choice, reason = first_choice(json_of(response)), ""
        if choice is None:
            reason = f"the server's answer is not a chat completion: {response.text[:200]}"
        elif choice.get("error") or choice.get("finish_reason") == "error":
            reason = f"the answer ended with an error: {get(choice.get('error'), 'message') or 'finish_reason error'}"
        if reason:
            response.extensions[REASON], response.status_code = reason, 502
    elif status in (429, 500):
        refusal = Refusal.of(json_of(response) or response.text)
        if status == 500 and refusal.cause() in (Cause.LENGTH, Cause.ROLE):
            response.status_code = 400
        # Words about a quota are also those of a passing limit.
        elif status == 429 and refusal._replace(text="").cause() is Cause.CREDIT:
            response.status_code = 402


def json_of(response: "httpx2.Response") -> Any:
    """Return the JSON value of a response; None if it has none."""
    try:
        return response.json()
    except (ValueError, RecursionError):
        return None


def get(value: Any, name: str) -> Any:
    """Return the value of a key; None if `value` is not an object."""
    return value.get(name) if isinstance(value, dict) else None


def first_choice(reply: Any) -> dict[str, Any] | None:
    """Return the first choice of a chat completion; None if the JSON value of a reply is something else."""
    choices = get(reply, "choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    return choice if isinstance(choice, dict) and "message" in choice else None
