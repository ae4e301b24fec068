"""The paper as text for a prompt or a workspace: our summary, or the text of the authors' PDF."""

import contextlib
import hashlib
from pathlib import Path

from lmrbench_data.base.configurations import configuration_of
from lmrbench_data.base.errors import ArgumentError, InputError
from lmrbench_data.base.files import write_atomically
from lmrbench_data.base.paths import cache_folder
from lmrbench_data.dataset.rows import DatasetRow
from lmrbench_data.papers.fetch import PaperStore, paper_key
from lmrbench_data.papers.parse import PARSER, parse_pdf

#: `text` is our summary, which needs no PDF; `none` leaves the paper out.
FORMS = ("text", "pdf-json", "none")


def paper_text(row: DatasetRow, form: str, pages: str = "") -> str:
    """Return the paper as text; empty for `none`.

    Args:
        form: one of `FORMS`.
        pages: pages of the PDF, such as `1-9`; all by default.

    Raises:
        ArgumentError: no such form, a PDF of an altered paper, or pages of a form that has none.
        InputError: the PDF is missing, or cannot be read.
    """
    if form not in FORMS:
        raise ArgumentError("paper", f"{form!r} is unknown; one of: {', '.join(FORMS)}")
    if form == "pdf-json":
        if configuration_of(row).is_altered:
            problem = "its paper differs from the published PDF; choose text or none"
            raise ArgumentError("paper", f"{row['instance_id']}: {problem}")
        return _pdf_text(row, pages)
    if pages:
        problem = f"the paper as {form!r} has no pages; choose pdf-json"
        raise ArgumentError("paper_pages", problem)
    return row["paper_text"].strip() if form == "text" else ""


def _pdf_text(row: DatasetRow, pages: str) -> str:
    """Return the text of a PDF, from the cache if it was parsed before."""
    store = PaperStore()
    key = paper_key(row)
    sha256 = store.sha256(key)
    if not sha256:
        instance = row["instance_id"]
        how = f"`lmrbench papers fetch {instance}` or `lmrbench papers add {instance} FILE`"
        raise InputError(f"{instance}: its PDF is missing; run {how}")
    cached = _cached_path(sha256, pages)
    with contextlib.suppress(OSError, ValueError):
        return cached.read_text(encoding="utf-8")
    text = parse_pdf(store.path(key), pages)
    write_atomically(cached, text)
    return text


def _cached_path(sha256: str, pages: str) -> Path:
    """Return where the text of these pages is cached, as this parser reads them."""
    name = hashlib.sha256(f"{sha256} {PARSER} {pages}".encode()).hexdigest()
    return cache_folder() / "papers" / "parsed" / f"{name}.txt"
