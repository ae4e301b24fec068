"""A judge's opinion of an answer, and how it is read from a reply: tolerant in form, strict in meaning.

A reply is a JSON object, wherever it stands. One with two categories, or with half of another object beside it, has
none.
"""

import json
import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict

from lmrbench_data.base.text import cut, one_line

from ..rebuild.extract import THOUGHTS

#: Characters of a reply that are read, and of each text that is kept.
MAX_REPLY = 100_000
MAX_TEXT = 4000
MAX_POINTS = 4
#: Number of braces that are tried as the start of an object.
_MAX_TRIES = 500


class Category(StrEnum):
    """Correctness of a candidate, from most to least severe."""

    LI = "LI"
    LC = "LC"
    CC = "CC"

    @property
    def full_name(self) -> str:
        """The name in the benchmark's paper."""
        return _TITLES[self]


#: From completely correct to incorrect logic: the order in which categories are shown.
BEST_FIRST = tuple(reversed(Category))
_TITLES = {
    Category.LI: "Incorrect logic",
    Category.LC: "Logic correct, subtle errors",
    Category.CC: "Completely correct",
}
#: Spellings of the categories in lower case; each run of characters other than letters and digits is one blank.
_SPELLINGS = {
    Category.LI: r"1|li|incorrect logic|logic (?:is )?incorrect",
    Category.LC: r"2|lc|(?:logic (?:is )?correct|correct logic) (?:with |but |but with )?subtle errors?",
    Category.CC: r"3|cc|completely correct",
}
_NAME = re.compile("(?:" + "|".join(f"(?P<{name}>{form})" for name, form in _SPELLINGS.items()) + ")(?= |$) ?")
_LABEL = re.compile(r"^(?:final )?(?:category|class|classification|verdict|label|answer)(?: is)? ")


def read_category(value: Any) -> Category | None:
    """Return the category that `value` names and nothing else: "CC", 3, "3", "**3: Completely correct (CC)**".

    None for a text with any other word ("not completely correct") or with names of two categories.
    """
    if isinstance(value, int | float) and not isinstance(value, bool) and value in (1, 2, 3):
        value = str(int(value))
    if not isinstance(value, str) or len(value) > 200:
        return None
    text = _LABEL.sub("", re.sub(r"[\W_]+", " ", value.lower()).strip())
    names = set()
    while match := _NAME.match(text):
        names.add(match.lastgroup)
        text = text[match.end() :]
    return Category[str(names.pop())] if len(names) == 1 and not text else None


class UnreadableError(Exception):
    """A reply without one clear opinion; the message says what is wrong, in our words only."""


class Reply(BaseModel):
    """A model's statement on an answer, as it is logged."""

    model_config = ConfigDict(frozen=True)

    @property
    def label(self) -> str:
        """Its short form."""
        raise NotImplementedError


class Opinion(Reply):
    """One judgement as the judge gave it; all texts are plain lines."""

    category: Category
    algorithm: str
    implementation: str
    rationale: tuple[str, ...]
    """Two to four points."""

    @property
    def label(self) -> str:
        """The category."""
        return str(self.category)


#: Spellings of the fields of a reply.
_KEYS = {
    "analysis": ("analysis", "work", "steps", "scratchpad"),
    "category": ("category", "classification", "class", "verdict", "label", "final_category", "final_verdict"),
    "algorithm": ("algorithm", "algorithmic_logic", "algorithm_logic", "logic"),
    "implementation": ("implementation", "code", "implementation_details"),
    "rationale": ("rationale", "rationales", "reasons", "reasoning", "explanation", "points"),
}
_FIELDS = {name: field for field, names in _KEYS.items() for name in names}


def parse_opinion(text: str) -> Opinion:
    """Return the judgement in a reply.

    Raises:
        UnreadableError: none, two different ones, or one with less than two points in its favour.
    """
    opinions = [_opinion(item) for item in read_objects(text, _FIELDS, "category")]
    if len({opinion.category for opinion in opinions}) > 1:
        raise UnreadableError("it holds judgements of different categories")
    return opinions[-1]


def _opinion(item: Mapping[str, Any]) -> Opinion:
    category = read_category(item["category"])
    if category is None:
        raise UnreadableError('the category is none of "LI", "LC", "CC"')
    algorithm, implementation = plain(_flat(item.get("algorithm"))), plain(_flat(item.get("implementation")))
    points = list(_points(item.get("rationale")))[:MAX_POINTS]
    # Fewer points than requested: the remarks on logic and implementation count as points too.
    points += [text for text in (algorithm, implementation) if text][: max(0, 2 - len(points))]
    if len(points) < 2:
        raise UnreadableError("the rationale has less than two points")
    return Opinion(category=category, algorithm=algorithm, implementation=implementation, rationale=tuple(points))


def _points(value: Any) -> Iterator[str]:
    items = value if isinstance(value, list) else _flat(value).splitlines()
    for item in items:
        if text := re.sub(r"^(?:[-*•]|\(?\d{1,2}[.)])\s+", "", plain(_flat(item))):
            yield text


def _flat(value: Any, depth: int = 3) -> str:
    """Return a value as text: judges may nest objects where a sentence was requested."""
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, bool) or depth == 0:
        return ""
    if isinstance(value, list):
        return "\n".join(filter(None, (_flat(item, depth - 1) for item in value)))
    if isinstance(value, dict):
        parts = ((key, _flat(item, depth - 1)) for key, item in value.items())
        return "\n".join(f"{key}: {text}" for key, text in parts if text)
    return str(value)


def plain(text: str) -> str:
    """Return one line of printable characters, of bounded length."""
    return cut(one_line(text[: 2 * MAX_TEXT]), MAX_TEXT)


# --- JSON objects in a reply ------------------------------------------------------------------------------------------

_THOUGHT = re.compile(rf"[<\[](/?){THOUGHTS}[>\]]", re.IGNORECASE)
_KEY_BEFORE = re.compile(r"""["']\s*:\s*$""")


def read_objects(text: str, fields: Mapping[str, str], required: str) -> list[dict[str, Any]]:
    """Return the JSON objects in a reply that have a field, one at least; thoughts of the model are left out.

    Args:
        fields: spelling of a key → name of the field.
        required: the field; an object with a second one anywhere inside is malformed.

    Raises:
        UnreadableError: there is none, or part of another one.
    """
    if len(text) > MAX_REPLY:
        raise UnreadableError("it is too long")
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        whole = None
    if not isinstance(whole, dict):
        text = _without_thoughts(text)
    objects, rest = _objects(text, fields, required)
    if not objects:  # the backslash of LaTeX, such as `\sigma`, escapes nothing, and is doubled
        mended = re.sub(r'\\(["\\/bfnrt]|u[0-9a-fA-F]{4})|\\', lambda m: m[0] if m[1] else "\\\\", text)
        objects, rest = _objects(mended, fields, required)
    if not objects:
        raise UnreadableError(f'there is no JSON object with "{required}" in it')
    # Otherwise an object that is quoted inside a broken or unfinished answer would pass for the answer.
    key = re.compile(rf"""["'](?:{"|".join(fields)})["']\s*:""", re.IGNORECASE)
    if any(key.search(piece) or _KEY_BEFORE.search(piece) for piece in rest):
        raise UnreadableError("part of another JSON object follows the first")
    return objects


def _objects(text: str, fields: Mapping[str, str], required: str) -> tuple[list[dict[str, Any]], list[str]]:
    """The objects in `text` that have a field, themselves or inside, and the pieces of text around them."""
    having: list[dict[str, Any]] = []

    def rename(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        names = [re.sub(r"[\s-]+", "_", key.strip().lower()) for key, _ in pairs]
        item = {fields.get(name, key): value for name, (key, value) in zip(names, pairs, strict=True)}
        if len(item) < len(pairs):
            raise ValueError("duplicate key")
        if required in item:
            having.append(item)
        return item

    decoder = json.JSONDecoder(strict=False, object_pairs_hook=rename)
    objects, rest, done, start = [], [], 0, text.find("{")
    for _ in range(_MAX_TRIES):
        if start < 0:
            break
        having.clear()
        try:
            _, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            end = start + 1
        else:
            if len(having) == 1:
                objects += having
                rest.append(text[done:start])
                done = end
        start = text.find("{", end)
    return objects, [*rest, text[done:]]


def _without_thoughts(text: str) -> str:
    """Return the text after the thoughts of a reasoning model; many servers leave out the mark that begins them.

    Raises:
        UnreadableError: they do not end.
    """
    marks = list(_THOUGHT.finditer(text))
    if not marks:
        return text
    if not marks[-1][1]:
        raise UnreadableError("it ends within the model's thoughts")
    return text[marks[-1].end() :]
