"""Read the original's judgements: JSON, fenced JSON, or prose whose last line is the digit of a category."""

import json
import re
from enum import StrEnum
from typing import Any, NamedTuple

from lmrbench_evaluate.judge.category import Category, read_category
from lmrbench_evaluate.judge.parse import plain

from .clone import UnreadableFile

#: `<number>-<name>_<repository>_<index>_analysis.txt`; the repository's name may hold anything.
FILE = re.compile(r"0*(\d{1,6})-(.+)_(\d{1,3})_analysis\.txt")
_FENCED = re.compile(r"```[a-zA-Z]*[ \t]*\n(.*?)\n?[ \t]*```", re.DOTALL)
#: The original's scale, which people used too.
SCALE = {1: Category.LI, 2: Category.LC, 3: Category.CC}
MAX_POINTS = 20


class Dialect(StrEnum):
    """The form of a judgement."""

    JSON = "JSON"
    FENCED = "fenced JSON"
    PROSE = "prose"


class PublishedJudgement(NamedTuple):
    """One judgement."""

    category: Category
    rationale: tuple[str, ...]
    """Plain lines; for prose, its paragraphs."""
    dialect: Dialect


def read_judgement(text: str) -> PublishedJudgement:
    """Return the judgement in a file of the original's judge.

    Raises:
        UnreadableFile: there is none, or more than one.
    """
    whole = _object(text)
    if whole is not None:
        return _of_object(whole, Dialect.JSON)
    fenced = [item for block in _FENCED.findall(text) if (item := _object(block)) is not None]
    if len(fenced) > 1:
        raise UnreadableFile(f"{len(fenced)} judgements in one file")
    if fenced:
        return _of_object(fenced[0], Dialect.FENCED)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines or lines[-1] not in ("1", "2", "3"):
        raise UnreadableFile("no judgement: neither JSON nor a last line of 1, 2 or 3")
    body = text.rstrip()[: -len(lines[-1])]
    paragraphs = (plain(part) for part in re.split(r"\n\s*\n", body))
    points = tuple(part for part in paragraphs if part)
    return PublishedJudgement(SCALE[int(lines[-1])], points[:MAX_POINTS], Dialect.PROSE)


def _object(text: str) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _of_object(value: dict[str, Any], dialect: Dialect) -> PublishedJudgement:
    category = read_category(value.get("category"))
    if category is None:
        raise UnreadableFile("the JSON has no category 1, 2 or 3")
    rationale = value.get("rationale")
    points = rationale if isinstance(rationale, list) else [rationale]
    texts = tuple(plain(point) for point in points if isinstance(point, str) and point.strip())
    return PublishedJudgement(category, texts[:MAX_POINTS], dialect)
