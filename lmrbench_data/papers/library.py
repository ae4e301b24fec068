"""Add PDFs to the cache: missing ones from their servers, and the user's own."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..base.errors import InputError, LMRBenchError
from ..base.progress import Progress
from .fetch import UnreachableError, fetch_pdf, host, pause
from .paper_cache import MAX_BYTES, PaperStore, Stored, pdf_url
from .parse import parse_pdf


@dataclass
class FetchSummary:
    """The outcome of fetching several PDFs."""

    fetched: int = 0
    problems: dict[str, LMRBenchError] = field(default_factory=dict)
    """By paper; papers on one unreachable server share one error."""
    unreachable: dict[str, UnreachableError] = field(default_factory=dict)
    """By host."""


def fetch_missing(
    store: PaperStore,
    papers: Mapping[str, Mapping[str, Any]],
    *,
    replace: bool = False,
    progress: Progress | None = None,
) -> FetchSummary:
    """Fetch the PDFs that are missing, one at a time; skip the other papers of an unreachable server.

    Args:
        papers: key → a row of that paper.
        replace: fetch all, and accept PDFs that have changed.
    """
    progress, done = progress or Progress(), FetchSummary()
    missing = [key for key in papers if replace or store.facts(key) is None]
    progress.start(len(missing))
    for number, key in enumerate(missing):
        url = pdf_url(papers[key])
        if known := done.unreachable.get(host(url)):
            done.problems[key] = known
        else:
            if number:
                pause()
            try:
                store.put(key, fetch_pdf(url), url, replace=replace)
                done.fetched += 1
            except UnreachableError as error:
                done.problems[key] = done.unreachable[host(url)] = error
            except LMRBenchError as error:
                done.problems[key] = error
        progress.step("failed" if key in done.problems else "fetched")
    return done


def add_pdf(store: PaperStore, key: str, file: Path, *, replace: bool = False) -> Stored:
    """Add a PDF of the user's own.

    Raises:
        InputError: it is too large, cannot be read, or differs from the stored one.
    """
    if file.stat().st_size > MAX_BYTES:
        raise InputError(f"{file}: larger than {MAX_BYTES // 2**20} MiB")
    parse_pdf(file, "pdf-json")
    return store.put(key, file.read_bytes(), "added by hand", replace=replace)
