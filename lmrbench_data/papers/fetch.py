"""The cache of PDFs with their hashes: the user's own, or from https addresses of public hosts."""

import hashlib
import os
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

from ..base.errors import InfraError, InputError, LMRBenchError
from ..base.files import write_atomically
from ..base.jobs import Progress
from ..base.names import child_path
from ..base.paths import cache_folder
from ..base.text import error_line
from ..base.version import __version__
from .parse import parse_pdf

#: Maximum size of a PDF; the largest of the benchmark's papers has about 20 MB.
MAX_BYTES = 100 * 1024 * 1024
TRIES = 5
#: Seconds between two downloads: arXiv asks for three.
PAUSE_S = 3.0
CONNECT_S = 10.0
TIMEOUT_S = 60.0
_MAX_REDIRECTS = 5
_AGENT = f"lmrbench/{__version__} (research benchmark; one download per paper)"
_BY_HAND = "`lmrbench papers add ID FILE` adds a PDF that you have"


class PaperStore:
    """PDFs in a folder: `<key>.pdf`, and in `<key>.sha256` the hash of the first one."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or cache_folder() / "papers"

    def path(self, key: str, suffix: str = ".pdf") -> Path:
        """Return the path of a paper's PDF, or of its hash; neither has to exist.

        Raises:
            ValueError: the key might leave the folder.
        """
        return child_path(self.folder, key, suffix)

    def sha256(self, key: str) -> str:
        """Return the hash of a stored PDF; empty if it is missing.

        Raises:
            InputError: it has changed since it was stored.
        """
        stored = self._stored_sha256(key)
        path = self.path(key)
        if not stored or not path.is_file():
            return ""
        if hashlib.sha256(path.read_bytes()).hexdigest() != stored:
            raise InputError(
                f"{path}: changed since it was stored; remove it, and fetch or add it again"
            )
        return stored

    def put(self, key: str, data: bytes, source: str) -> str:
        """Store a PDF and return its hash.

        Raises:
            InputError: a different PDF was stored before.
        """
        stored = self._stored_sha256(key)
        sha256 = hashlib.sha256(data).hexdigest()
        if stored and stored != sha256:
            raise InputError(
                f"{source}: differs from the PDF stored for {key} before; remove "
                f"{self.path(key, '.sha256')} to replace it"
            )
        write_atomically(self.path(key), data)
        write_atomically(self.path(key, ".sha256"), sha256)
        return sha256

    def _stored_sha256(self, key: str) -> str:
        path = self.path(key, ".sha256")
        return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""


def paper_key(row: Mapping[str, Any]) -> str:
    """Return the cache key of a row's paper: the arXiv id for arXiv's PDF.

    Other keys depend on the whole address: no dataset can replace another paper's PDF.
    """
    arxiv = str(row["arxiv_id"])
    url = str(row["paper_url"])
    if arxiv and pdf_url(row) == _arxiv_url(arxiv):
        return arxiv.replace("/", "-")
    file = url.rpartition("/")[2].removesuffix(".pdf")
    words = re.sub(r"[^A-Za-z0-9]+", "-", file).strip("-")[:60] or "paper"
    return f"{words}-{hashlib.sha256(url.encode()).hexdigest()[:12]}"


def pdf_url(row: Mapping[str, Any]) -> str:
    """Return the address of a row's PDF: the row's, or arXiv's first version, which stays."""
    url = str(row["paper_url"])
    arxiv = str(row["arxiv_id"])
    is_pdf = url.endswith(".pdf") or "/pdf?" in url
    return url if is_pdf or not arxiv else _arxiv_url(arxiv)


def _arxiv_url(arxiv_id: str) -> str:
    return f"https://arxiv.org/pdf/{arxiv_id}v1"


class UnreachableError(InfraError):
    """The server did not answer any attempt."""


def is_public(url: str) -> bool:
    """Return whether an address is https at a named host, not one of the user's network."""
    host = r"[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}"
    return bool(re.fullmatch(rf"https://{host}(:443)?(/[!-~]{{0,2000}})?", url))


def fetch_pdf(url: str, is_allowed: Callable[[str], bool] = is_public) -> bytes:
    """Download a PDF and return its bytes.

    Args:
        is_allowed: whether an address, or the target of a redirect, may be requested.

    Raises:
        InputError: the address does not serve a PDF, refuses, or is not allowed.
        UnreachableError: the server did not answer.
        InfraError: the server failed on every attempt.
    """
    target = url
    for _ in range(_MAX_REDIRECTS + 1):
        if not is_allowed(target):
            where = "is" if target == url else f"redirects to {target[:200]}, which is"
            raise InputError(f"{url}: {where} not an https address of a public host; {_BY_HAND}")
        response, data = _get(target, url)
        if not response.is_redirect:
            break
        target = urljoin(target, response.headers["Location"])
    if not response.is_success:
        raise InputError(f"{url}: HTTP {response.status_code}; {_BY_HAND}")
    if not data[:1024].lstrip().startswith(b"%PDF-"):
        kind = "a web page" if b"<html" in data[:2000].lower() else "something else"
        raise InputError(f"{url}: serves {kind} instead of a PDF; {_BY_HAND}")
    return data


def _get(target: str, url: str) -> tuple[Any, bytes]:
    """Request an address until the whole body arrives; `url` is the paper's, for messages."""
    from huggingface_hub.errors import HfHubHTTPError, HTTPError, OfflineModeIsEnabled  # type: ignore[attr-defined]

    host = urlsplit(url).netloc
    for _ in range(TRIES):
        try:
            with _stream(target) as response:
                data = _body(response, url)
        except HfHubHTTPError as error:
            raise InfraError(
                f"{url}: HTTP {error.response.status_code}, after {TRIES} attempts; try again "
                f"later, or {_BY_HAND}"
            ) from error
        except (HTTPError, OfflineModeIsEnabled) as error:
            raise UnreachableError(f"{host} cannot be reached ({error_line(error)})") from error
        if data is not None:
            return response, data
        time.sleep(_scale())
    raise UnreachableError(f"{host} breaks the connection off, at {TRIES} attempts")


def _stream(url: str) -> Any:
    """Open a request, which is retried while the server is busy or broken."""
    from huggingface_hub.utils import http_stream_backoff  # type: ignore[attr-defined]

    return http_stream_backoff(
        "GET",
        url,
        max_retries=TRIES - 1,
        base_wait_time=_scale(),
        retry_on_status_codes=(429, 500, 502, 503, 504),  # client 1 would only retry 503
        follow_redirects=False,
        timeout=(CONNECT_S, TIMEOUT_S, TIMEOUT_S, TIMEOUT_S),  # connect, read, write, pool
        headers={"User-Agent": _AGENT, "Accept-Encoding": "identity"},
    )


def _body(response: Any, url: str) -> bytes | None:
    """Return the body of a streamed response; None if it breaks off."""
    from huggingface_hub.errors import HTTPError  # type: ignore[attr-defined]

    data = bytearray()
    try:
        for chunk in response.iter_raw():
            data += chunk
            if len(data) > MAX_BYTES:
                raise InputError(f"{url}: larger than {MAX_BYTES // 2**20} MiB")
    except HTTPError:
        return None
    return bytes(data)


def _scale() -> float:
    """Return the factor of all pauses, which tests lower."""
    return float(os.environ.get("LMRBENCH_BACKOFF_SCALE", "1"))


@dataclass
class FetchSummary:
    """The outcome of fetching several PDFs."""

    fetched: int = 0
    problems: dict[str, LMRBenchError] = field(default_factory=dict)
    """By paper; papers on one unreachable server share one error."""


def fetch_missing(
    store: PaperStore, papers: Mapping[str, Mapping[str, Any]], progress: Progress | None = None
) -> FetchSummary:
    """Fetch the missing PDFs one at a time; skip those of unreachable servers.

    Args:
        papers: key → a row of the paper.
    """
    progress = progress or Progress()
    summary = FetchSummary()
    unreachable: dict[str, UnreachableError] = {}
    missing = [key for key in papers if not store.sha256(key)]
    progress.start(len(missing))
    for key in missing:
        url = pdf_url(papers[key])
        host = urlsplit(url).netloc
        if host in unreachable:
            summary.problems[key] = unreachable[host]
        else:
            if key != missing[0]:
                time.sleep(PAUSE_S * _scale())
            try:
                store.put(key, fetch_pdf(url), url)
                summary.fetched += 1
            except LMRBenchError as error:
                summary.problems[key] = error
                if isinstance(error, UnreachableError):
                    unreachable[host] = error
        progress.step("failed" if key in summary.problems else "fetched")
    return summary


def add_pdf(store: PaperStore, key: str, file: Path) -> str:
    """Add a readable PDF of the user's own and return its hash."""
    if file.stat().st_size > MAX_BYTES:
        raise InputError(f"{file}: larger than {MAX_BYTES // 2**20} MiB")
    parse_pdf(file)
    return store.put(key, file.read_bytes(), str(file))
