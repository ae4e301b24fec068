"""Turn a PDF into text for a prompt: JSON with pages, blocks and lines with font sizes.

Text stands in the order of the PDF; words broken by a line end are joined; formulas stay as PyMuPDF
extracts them. Lines keep their font size, which distinguishes headings. A PDF is untrusted: a child
process with limits on time and memory reads it.
"""

import itertools
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..base.errors import InputError
from ..base.limited_calls import Limits, call_limited

#: Changes whenever the text of a PDF changes.
PARSER = "3"
#: Flag of a span in bold letters.
_BOLD = 16
LIMITS = Limits(cpu_s=240, wall_s=300, memory_bytes=3 * 1024**3, reply_bytes=64 * 1024**2)


def parse_pdf(path: Path, pages: str = "") -> str:
    """Return the text of a PDF, of pages such as `1-9` or `1-9,12`, or of all."""
    chosen = _page_numbers(pages)
    try:
        return call_limited(read_pdf, str(path), chosen, limits=LIMITS)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _page_numbers(pages: str) -> list[int]:
    """Return the numbers in `1-9,12`."""
    numbers: list[int] = []
    for part in filter(None, pages.replace(" ", "").split(",")):
        match = re.fullmatch(r"([1-9]\d{0,4})(?:-([1-9]\d{0,4}))?", part)
        if not match or int(match[2] or match[1]) < int(match[1]):
            raise InputError(f"pages {pages!r}: expected numbers and ranges such as 1-9,12")
        numbers += range(int(match[1]), int(match[2] or match[1]) + 1)
    return numbers


# --- in the child ---------------------------------------------------------------------------------


def read_pdf(path: str, pages: Sequence[int]) -> str:
    """Return the text of a PDF; for `call_limited`."""
    import pymupdf

    pymupdf.TOOLS.mupdf_display_errors(False)
    try:
        with pymupdf.open(path, filetype="pdf") as document:
            return _read(document, pages)
    except InputError:
        raise
    except Exception as error:  # a damaged file may raise anything
        raise InputError(f"is damaged or not a PDF ({type(error).__name__})") from error


def _read(document: Any, pages: Sequence[int]) -> str:
    if not document.is_pdf:  # MuPDF also reads web pages
        raise InputError("is damaged or not a PDF")
    if document.needs_pass:
        raise InputError("is encrypted; save a copy without a password and add that")
    count = document.page_count
    pages = pages or range(1, count + 1)
    if not pages or max(pages) > count:
        raise InputError(f"has only {count} pages")
    parsed = [{"page": number, "blocks": _blocks(document[number - 1])} for number in pages]
    if not any(page["blocks"] for page in parsed):
        raise InputError("contains no text; scanned PDFs cannot be read")
    content = {"title": (document.metadata or {}).get("title") or "", "pages": parsed}
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"))


def _blocks(page: Any) -> list[dict[str, Any]]:
    """Return the text blocks of a page, in the order of the PDF."""
    import pymupdf

    left_out = pymupdf.TEXT_PRESERVE_LIGATURES | pymupdf.TEXT_PRESERVE_IMAGES
    content = page.get_text("dict", flags=pymupdf.TEXTFLAGS_DICT & ~left_out)
    blocks = []
    for block in content["blocks"]:
        lines = [_line(line["spans"]) for line in block.get("lines", ())]
        if lines := _join_broken_words([line for line in lines if line["text"]]):
            blocks.append({"lines": lines})
    return blocks


def _line(spans: Sequence[dict[str, Any]]) -> dict[str, Any]:
    text = "".join(span["text"] for span in spans).strip()
    size = max((span["size"] for span in spans), default=0.0)
    line = {"text": text, "size": round(size, 1)}
    if all(span["flags"] & _BOLD for span in spans):
        line["bold"] = True
    return line


def _join_broken_words(lines: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the lines with words broken by a line end joined on the line where they begin."""
    for first, second in itertools.pairwise(lines):
        rest = re.match(r"[a-z]+\S*", second["text"])
        if rest and re.search(r"[a-z]-$", first["text"]):
            first["text"] = first["text"][:-1] + rest[0]
            second["text"] = second["text"][rest.end() :].lstrip()
    return [line for line in lines if line["text"]]
