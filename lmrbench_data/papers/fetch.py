"""Download PDFs politely, and resume interrupted downloads."""

import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ..base.errors import InfraError, InputError
from ..base.retry_after import retry_after_s
from ..base.text import error_line
from ..base.version import __version__
from .paper_cache import MAX_BYTES

if TYPE_CHECKING:
    import httpx2

TRIES = 5
#: Seconds between two downloads: arXiv asks for three.
PAUSE_S = 3.0
TIMEOUT_S = 60.0
#: Time limit for opening a connection.
CONNECT_S = 10.0
_LONGEST_WAIT_S = 120.0
_BY_HAND = "`lmrbench papers add ID FILE` adds a PDF that you have"
_RETRIED = {408, 425, 429, 500, 502, 503, 504}


class UnreachableError(InfraError):
    """The server cannot be reached; a retry seldom helps."""


def is_public(url: str) -> bool:
    """Whether an address is https at a named host; an untrusted dataset must not reach into the user's network."""
    return bool(re.match(r"https://[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}(:443)?(/|$)", url))


def fetch_pdf(
    url: str,
    part: Path,
    say: Callable[[str], None] = lambda line: None,
    is_allowed: Callable[[str], bool] = is_public,
) -> bytes:
    """Download a PDF and return its bytes.

    Args:
        part: file for an unfinished download, from which the next call resumes.
        say: receives a line for each failed attempt.
        is_allowed: whether an address, or the target of a redirect, may be requested.

    Raises:
        InputError: the address does not serve a PDF, refuses, or is not allowed.
        UnreachableError: the server cannot be reached; raised without a retry.
        InfraError: the server failed on every attempt.
    """
    import httpx2

    def check_address(request: httpx2.Request) -> None:
        if not is_allowed(str(request.url)):
            where = "is" if str(request.url) == url else f"redirects to {str(request.url)[:200]}, which is"
            raise InputError(f"{url}: {where} not an https address of a public host; {_BY_HAND}")

    headers = {"User-Agent": f"lmrbench/{__version__} (research benchmark; one download per paper)"}
    reason = ""
    timeout, hooks = httpx2.Timeout(TIMEOUT_S, connect=CONNECT_S), {"request": [check_address]}
    with httpx2.Client(follow_redirects=True, timeout=timeout, headers=headers, event_hooks=hooks) as client:
        for attempt in range(TRIES):
            wait = 2.0**attempt
            try:
                return _attempt(client, url, part)
            except httpx2.HTTPStatusError as error:
                status = error.response.status_code
                reason = f"HTTP {status}"
                if status not in _RETRIED:
                    raise InputError(f"{url}: {reason}; {_BY_HAND}") from None
                asked = retry_after_s(error.response.headers.get("Retry-After", ""))
                wait = min(asked or wait, _LONGEST_WAIT_S)
            except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.ProxyError) as error:
                raise UnreachableError(f"{host(url)} cannot be reached ({error_line(error)})") from error
            except (httpx2.HTTPError, httpx2.InvalidURL) as error:
                reason = f"{type(error).__name__}: {error_line(error)}"
            say(f"{url}: {reason}; trying again" if attempt + 1 < TRIES else f"{url}: {reason}")
            if attempt + 1 < TRIES:
                time.sleep(wait * _scale())
    raise InfraError(f"{url}: {reason}, after {TRIES} attempts; try again later, or {_BY_HAND}")


def host(url: str) -> str:
    """Return the server of an address."""
    return urlsplit(url).netloc


def pause() -> None:
    """Wait between two downloads."""
    time.sleep(PAUSE_S * _scale())


def _attempt(client: "httpx2.Client", url: str, part: Path) -> bytes:
    import httpx2

    part.parent.mkdir(parents=True, exist_ok=True)
    start = part.stat().st_size if part.exists() else 0
    with client.stream("GET", url, headers={"Range": f"bytes={start}-"} if start else {}) as response:
        if response.status_code == 416:  # the file ends at `start`: it is complete, or another file
            part.unlink()
            raise httpx2.ReadError("the rest of the download is gone")
        response.raise_for_status()
        is_resumed = (
            start
            and response.status_code == 206
            and response.headers.get("Content-Range", "").startswith(f"bytes {start}-")
        )
        with part.open("ab" if is_resumed else "wb") as file:
            for chunk in response.iter_bytes():
                file.write(chunk)
                if file.tell() > MAX_BYTES:
                    part.unlink()
                    raise InputError(f"{url}: larger than {MAX_BYTES // 2**20} MiB")
    data = part.read_bytes()
    part.unlink()
    if not data[:1024].lstrip().startswith(b"%PDF-"):
        kind = "a web page" if b"<html" in data[:2000].lower() else "something else"
        raise InputError(f"{url}: serves {kind} instead of a PDF; {_BY_HAND}")
    return data


def _scale() -> float:
    """Return the factor of all pauses, which tests lower."""
    return float(os.environ.get("LMRBENCH_BACKOFF_SCALE", "1"))
