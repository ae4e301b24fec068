"""Turn a PDF into what a prompt carries: pages, blocks and lines with their sizes (PyMuPDF), or Markdown (pymupdf4llm).

Text is read column by column; a word that a line end broke in two is whole again; formulas stay as PyMuPDF extracts
them. Sizes of letters stay with the lines, so that headings can be told. A PDF is a stranger's file: it is read in a
child process with limits on time and memory.
"""

import contextlib
import itertools
import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..base.errors import InfraError, InputError
from ..base.extras import need

#: Changes with what is made of a PDF.
PARSER = "2"
TIMEOUT_S = 300
CPU_S = 240
MEMORY_BYTES = 3 * 1024**3
MAX_OUTPUT = 64 * 1024 * 1024
_BOOT = "import sys; sys.path.insert(0, sys.argv[1]); from lmrbench_data.papers.parse import serve; serve()"
#: A block that is wider than this share of the text's width spans both columns.
_WIDE = 0.6


def parse_pdf(path: Path, form: str, pages: str = "") -> str:
    """The text of a PDF.

    Args:
        form: `pdf-json` or `pdf-markdown`.
        pages: such as `1-9` or `1-9,12`; all by default.

    Raises:
        InputError: damaged, encrypted, without text, or without these pages; or Markdown without the extra `papers`.
        InfraError: it cannot be read within the limits.
    """
    if form == "pdf-markdown":
        need("papers", "a PDF as Markdown")
    chosen = _page_numbers(pages)
    question = json.dumps({"path": str(path), "form": form, "pages": chosen})
    command = [sys.executable, "-I", "-c", _BOOT, str(Path(__file__).resolve().parents[2])]
    try:
        done = subprocess.run(command, input=question.encode(), capture_output=True, timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        raise InfraError(f"{path}: was not read within {TIMEOUT_S} s") from None
    if done.returncode or len(done.stdout) > MAX_OUTPUT:
        raise InputError(f"{path}: cannot be read as a PDF within the limits of time and memory; is it damaged?")
    reply = json.loads(done.stdout)
    if "error" in reply:
        raise InputError(f"{path}: {reply['error']}")
    return str(reply["text"])


def _page_numbers(pages: str) -> list[list[int]]:
    """[first, last] of each part of `1-9,12`.

    Raises:
        InputError: not of this form.
    """
    parts = []
    for part in filter(None, pages.replace(" ", "").split(",")):
        found = re.fullmatch(r"([1-9]\d{0,4})(?:-([1-9]\d{0,4}))?", part)
        if not found or int(found[2] or found[1]) < int(found[1]):
            raise InputError(f"pages {pages!r}: give numbers and ranges, such as 1-9,12")
        parts.append([int(found[1]), int(found[2] or found[1])])
    return parts


# --- in the child -----------------------------------------------------------------------------------------------------


def serve() -> None:
    """Answer the question on standard input."""
    import os
    import resource

    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # libraries that print
    question = json.loads(sys.stdin.buffer.read())
    for limit, most in ((resource.RLIMIT_AS, MEMORY_BYTES), (resource.RLIMIT_CPU, CPU_S), (resource.RLIMIT_CORE, 0)):
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(limit, (most, resource.getrlimit(limit)[1]))
    try:
        reply = {"text": _read(**question)}
    except InputError as error:
        reply = {"error": str(error)}
    out.write(json.dumps(reply).encode("ascii"))
    out.flush()


def _read(path: str, form: str, pages: Sequence[Sequence[int]]) -> str:
    import pymupdf

    pymupdf.TOOLS.mupdf_display_errors(False)
    try:
        document: Any = pymupdf.open(path, filetype="pdf")
    except (pymupdf.FileDataError, pymupdf.EmptyFileError, RuntimeError, ValueError):
        raise InputError("is damaged, or no PDF") from None
    with document:
        if not document.is_pdf:  # MuPDF reads web pages, too
            raise InputError("is damaged, or no PDF")
        if document.needs_pass:
            raise InputError("is encrypted; save a copy without a password and add that")
        count = document.page_count
        wanted = [number for first, last in pages for number in range(first, last + 1)] or list(range(1, count + 1))
        if not wanted or max(wanted) > count:
            raise InputError(f"has {count} pages, not the ones asked for")
        if form == "pdf-markdown":
            import pymupdf4llm

            text = str(pymupdf4llm.to_markdown(document, pages=[n - 1 for n in wanted], show_progress=False)).strip()
            if not text:
                raise InputError("has no text: a scan? Only PDFs with text can be read")
            return text
        parsed = [{"page": number, "blocks": _blocks(document[number - 1])} for number in wanted]
        if not any(page["blocks"] for page in parsed):
            raise InputError("has no text: a scan? Only PDFs with text can be read")
        title = (document.metadata or {}).get("title") or ""
        return json.dumps({"title": title, "pages": parsed}, ensure_ascii=False, separators=(",", ":"))


def _blocks(page: Any) -> list[dict[str, Any]]:
    """The blocks of text of a page, in the order in which one reads them."""
    import pymupdf

    flags = pymupdf.TEXTFLAGS_DICT & ~pymupdf.TEXT_PRESERVE_LIGATURES & ~pymupdf.TEXT_PRESERVE_IMAGES
    found = [block for block in page.get_text("dict", flags=flags)["blocks"] if block.get("lines")]
    blocks = []
    for block in in_reading_order([(block["bbox"], block) for block in found]):
        lines = []
        for line in block["lines"]:
            text = "".join(span["text"] for span in line["spans"]).strip()
            if text:
                size = max(span["size"] for span in line["spans"])
                bold = all(span["flags"] & 16 for span in line["spans"])
                lines.append({"text": text, "size": round(size, 1), **({"bold": True} if bold else {})})
        if lines := whole_words(lines):
            blocks.append({"lines": lines})
    return blocks


Box = tuple[float, float, float, float]


def in_reading_order(blocks: Sequence[tuple[Box, Any]]) -> list[Any]:
    """Blocks from top to bottom; between two that span the page, first the left column, then the right one.

    Args:
        blocks: (left, top, right, bottom) and what is there.
    """
    if not blocks:
        return []
    left, right = min(box[0] for box, _ in blocks), max(box[2] for box, _ in blocks)
    middle, width = (left + right) / 2, max(right - left, 1.0)
    result: list[Any] = []
    band: list[tuple[Box, Any]] = []

    def flush() -> None:
        columns: tuple[list[tuple[Box, Any]], list[tuple[Box, Any]]] = ([], [])
        for box, block in band:
            columns[(box[0] + box[2]) / 2 > middle].append((box, block))
        for column in columns:
            result.extend(block for _, block in sorted(column, key=lambda item: (item[0][1], item[0][0])))
        band.clear()

    for box, block in sorted(blocks, key=lambda item: (item[0][1], item[0][0])):
        crosses = box[0] < middle - 0.02 * width and box[2] > middle + 0.02 * width
        if crosses or box[2] - box[0] > _WIDE * width:
            flush()
            result.append(block)
        else:
            band.append((box, block))
    flush()
    return result


def whole_words(lines: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Lines in which a word that a line end broke in two is whole again, on the line where it begins."""
    result = [dict(line) for line in lines]
    for first, second in itertools.pairwise(result):
        if re.search(r"[a-z]-$", first["text"]) and (rest := re.match(r"[a-z]+\S*", second["text"])):
            first["text"] = first["text"][:-1] + rest[0]
            second["text"] = second["text"][rest.end() :].lstrip()
    return [line for line in result if line["text"]]
