"""Checks of services: the Hub and its cache, and the servers of model and judge."""

import asyncio
import os
import re
import socket
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from lmrbench_data.base.errors import InfraError, InputError
from lmrbench_data.base.hub_client import LostAnswerError, hub_errors, open_hub
from lmrbench_data.base.paths import cache_folder
from lmrbench_data.base.text import counted
from lmrbench_data.chat.client import ChatClient, RequestFailed
from lmrbench_data.chat.endpoint import Endpoint
from lmrbench_data.chat.server import address_and_key, server_name

from .finding import Finding, note, ok, problem

#: Seconds for a model's reply, and for the check as a whole.
_REPLY_S = 10.0
ENDPOINT_S = 15
CHECK_NETWORK = "check the network and HTTPS_PROXY; the installed tasks need no Hub"
_PUBLISHED = "datasets--lmr-bench--lmr-bench"


def look_at_hub() -> Iterator[Finding]:
    """Ask the Hub who the token belongs to."""
    from huggingface_hub import constants, get_token

    if constants.HF_HUB_OFFLINE:
        yield note("hub", "HF_HUB_OFFLINE is set; only cached datasets can be read", "unset HF_HUB_OFFLINE")
        return
    if not get_token():
        yield note("hub", "no token; public datasets can be read, nothing can be submitted", "hf auth login")
        return
    try:
        with hub_errors(constants.ENDPOINT):
            user = open_hub().whoami()
    except LostAnswerError as error:
        yield note("hub", str(error), CHECK_NETWORK)
    except InputError as error:
        status = getattr(getattr(error.__cause__, "response", None), "status_code", None)
        if status == 401:
            yield note("hub", f"{constants.ENDPOINT} rejects the token", "hf auth login, or correct HF_TOKEN")
        else:
            yield note("hub", f"{constants.ENDPOINT} does not identify the user (HTTP {status})", CHECK_NETWORK)
    else:
        role = (user.get("auth") or {}).get("accessToken", {}).get("role")
        yield ok("hub", f"{user['name']} at {constants.ENDPOINT}" + (f", token with role {role}" if role else ""))


def look_at_caches() -> Iterator[Finding]:
    """Check that downloads and judgements can be cached, and count the cached versions of the dataset."""
    from huggingface_hub import constants

    folders = {"HF_HOME": Path(constants.HF_HUB_CACHE), "LMRBENCH_CACHE": cache_folder()}
    for variable, folder in folders.items():
        existing = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
        if not os.access(existing, os.W_OK | os.X_OK):
            yield note("cache", f"{folder} is not writable", f"export {variable}=DIR, with a folder of your own")
            return
    snapshots = Path(constants.HF_HUB_CACHE, _PUBLISHED, "snapshots")
    number = len(list(snapshots.iterdir())) if snapshots.is_dir() else 0
    there = f"{counted(number, 'version')} of the dataset from the Hub; " if number else ""
    yield ok("cache", f"{there}{folders['HF_HOME']}, {folders['LMRBENCH_CACHE']}")


def look_at_endpoint(check: str, endpoint: Endpoint, flag: str) -> Iterator[Finding]:
    """Ask a model for one token; the key comes from the environment.

    Args:
        flag: the option that names the server.
    """
    try:
        url, _ = address_and_key(endpoint.base_url)
        server = server_name(url)
    except InputError as error:
        found, fix = re.split("[:;] ", getattr(error, "problem", str(error)), maxsplit=1)
        yield problem(check, found, fix)
        return
    if reason := _unresolved(server):
        yield problem(check, reason, f"correct {flag}, or check the network and its name server")
        return
    try:
        asyncio.run(_ask(endpoint))
    except InfraError as error:
        yield problem(check, str(error), f"start the server, or correct {flag}")
    except InputError as error:
        yield problem(check, str(error), f"correct OPENAI_API_KEY, the model's name or {flag}")
    except RequestFailed as error:
        if error.is_no_model:
            yield problem(check, f"{server}: {error}", f"correct {flag}, which often ends in /v1")
        else:
            fix = "see the server's log; loading a model takes minutes"
            yield problem(check, f"{server} answers with an error: {error}", fix)
    else:
        yield ok(check, f"{endpoint.model} answers at {server}")


async def _ask(endpoint: Endpoint) -> None:
    """Ask for one token, which costs next to nothing and proves address, key and name of the model."""
    limits = {"retries": 0, "max_tokens": 1, "timeout_s": _REPLY_S}
    async with ChatClient(endpoint.model_copy(update=limits)) as client:
        await client.complete([{"role": "user", "content": "Say ok."}])


def _unresolved(server: str) -> str:
    """Return why the name of a server has no address; empty if it has one, or if a proxy resolves it.

    asyncio resolves names on threads that Python waits for at its end, however long a dead name server takes.
    """
    host = urlsplit(server).hostname or ""
    if urllib.request.getproxies() and not urllib.request.proxy_bypass(host):
        return ""
    try:
        socket.getaddrinfo(host, None)
    except OSError as error:
        return f"{host} has no address ({error.strerror or error})"
    return ""
