"""Read facts about a paper from its PDF: title, authors, arXiv id, venue, headings. Missing facts stay empty."""

import itertools
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..papers.parse import parse_pdf

#: Characters of text that are kept, for the draft of an instruction.
MAX_TEXT = 40_000
_ARXIV = re.compile(r"arXiv:\s?(\d{4}\.\d{4,5})(?:v\d+)?", re.IGNORECASE)
_FILE = re.compile(r"(\d{4}\.\d{4,5})(?:v\d+)?\.pdf")
_HEADING = re.compile(r"(?:[1-9]\d?|[A-H])(?:\.\d+)*\.? {1,4}[A-Z][^.]{2,70}")
#: Notices that proceedings print on a first page, and the venue that each names.
_VENUES = (
    (re.compile(r"conference paper at ([A-Z][A-Za-z]+) (\d{4})"), "{0} {1}"),
    (re.compile(r"Neural Information Processing Systems \(NeurIPS (\d{4})\)"), "NeurIPS {0}"),
    (re.compile(r"(\d{4}) Conference on Empirical Methods in Natural Language Processing"), "EMNLP {0}"),
    (re.compile(r"International Conference on\s+Machine Learning.{0,80}?(\d{4})", re.DOTALL), "ICML {0}"),
)
_NAME = re.compile(r"[A-Z][\w'’.-]*(?: [A-Za-z][\w'’.-]*){0,2} [A-Z][\w'’-]+")


@dataclass(frozen=True)
class PaperFacts:
    """Facts about a paper; empty where the PDF has none."""

    title: str = ""
    authors: str = ""
    """The first author, with `et al.` if there are more."""
    arxiv_id: str = ""
    venue: str = ""
    year: int | None = None
    headings: Sequence[str] = field(default=())
    text: str = field(default="", repr=False)
    """The paper's text, up to `MAX_TEXT` characters."""

    @property
    def url(self) -> str:
        """The paper's address on arXiv."""
        return f"https://arxiv.org/abs/{self.arxiv_id}" if self.arxiv_id else ""


def read_facts(pdf: Path) -> PaperFacts:
    """Read the facts in a PDF.

    Raises:
        InputError, InfraError: it cannot be read (`parse_pdf`).
    """
    parsed = json.loads(parse_pdf(pdf, "pdf-json"))
    pages = [[line for block in page["blocks"] for line in block["lines"]] for page in parsed["pages"]]
    first, lines = pages[0], list(itertools.chain.from_iterable(pages))
    front = "\n".join(line["text"] for line in first)
    stamp = _ARXIV.search(front) or _FILE.fullmatch(pdf.name)
    arxiv_id = stamp[1] if stamp else ""
    venue, year = _venue(front)
    if not venue and arxiv_id:
        year = 2000 + int(arxiv_id[:2])
        venue = f"arXiv {year}"
    title, end = _title(first, str(parsed["title"]))
    return PaperFacts(
        title=title,
        authors=_authors(first[end:]) if end else "",
        arxiv_id=arxiv_id,
        venue=venue,
        year=year,
        headings=_headings(lines),
        text="\n".join(line["text"] for line in lines)[:MAX_TEXT],
    )


def _venue(front: str) -> tuple[str, int | None]:
    for pattern, name in _VENUES:
        if found := pattern.search(front):
            return name.format(*found.groups()), int(found.groups()[-1])
    return "", None


def _title(lines: Sequence[dict[str, Any]], stated: str) -> tuple[str, int]:
    """Return (title, number of the line after it): the first page's largest text, in the spelling of equal metadata."""
    candidates = [line for line in lines if not _ARXIV.search(line["text"]) and len(line["text"]) > 2]
    if not candidates:
        return "", 0
    largest = max(line["size"] for line in candidates)
    start = next(number for number, line in enumerate(lines) if line in candidates and line["size"] == largest)
    end = start
    while end < len(lines) and lines[end]["size"] > largest - 0.5:
        end += 1
    title = " ".join(line["text"] for line in lines[start:end])
    same = _letters(stated) == _letters(title)
    return " ".join((stated if same else title).split()), end


def _letters(text: str) -> str:
    return re.sub(r"\W", "", text).casefold()


def _authors(lines: Sequence[dict[str, Any]]) -> str:
    """Return the first author, if the lines after the title begin with a name."""
    before = list(itertools.takewhile(lambda line: not re.match(r"\W*abstract\b", line["text"], re.I), lines))[:12]
    if not before or len(before) == len(lines):
        return ""
    names = [
        re.sub(r"[\d*∗†‡§¶⋆♠♣♡♢,]+", " ", part).strip()
        for line in before
        for part in re.split(r",| and | & |\s{2,}|;", line["text"])
    ]
    found = [" ".join(name.split()) for name in names if _NAME.fullmatch(" ".join(name.split()))]
    if not found or found[0] != " ".join(names[0].split()):
        return ""
    return f"{found[0]} et al." if len(found) > 1 else found[0]


def _headings(lines: Sequence[dict[str, Any]]) -> tuple[str, ...]:
    """Numbered headings, in letters that are bold or larger than most."""
    sizes = sorted(line["size"] for line in lines)
    usual = sizes[len(sizes) // 2]
    found = [
        " ".join(line["text"].split())
        for line in lines
        if (line.get("bold") or line["size"] > usual + 0.5) and _HEADING.fullmatch(line["text"].strip())
    ]
    return tuple(dict.fromkeys(found))[:40]
