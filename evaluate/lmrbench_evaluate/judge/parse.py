"""Read a judge's answer: a JSON object, wherever it stands, with a category in any of its usual spellings.

Tolerant in form, strict in meaning: an answer with two categories, or with half of another answer beside it, has none.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from lmrbench_data.base.text import one_line

from .category import Category, read_category

#: Characters of an answer that are read, and of each text that is kept.
MAX_REPLY = 100_000
MAX_TEXT = 4000
MAX_POINTS = 4
#: Number of braces that are tried as the start of an object.
_MAX_TRIES = 500

_KEYS = {
    "analysis": ("analysis", "work", "steps", "scratchpad"),
    "category": ("category", "classification", "class", "verdict", "label", "final_category", "final_verdict"),
    "algorithm": ("algorithm", "algorithmic_logic", "algorithm_logic", "logic"),
    "implementation": ("implementation", "code", "implementation_details"),
    "rationale": ("rationale", "rationales", "reasons", "reasoning", "explanation", "points"),
}
_FIELDS = {name: field for field, names in _KEYS.items() for name in names}
_FIELD_IN_TEXT = re.compile(rf"""["'](?:{"|".join(_FIELDS)})["']\s*:""", re.IGNORECASE)
_KEY_BEFORE = re.compile(r"""["']\s*:\s*$""")
#: Marks around the thoughts of a reasoning model.
_THOUGHT = re.compile(r"<(/?)(?:seed:)?think(?:ing)?>|\[(/?)THINK\]", re.IGNORECASE)


class Unreadable(Exception):
    """An answer without one clear judgement; the message says what is wrong, in our words only."""


@dataclass(frozen=True)
class Opinion:
    """One judgement as the judge gave it; all texts are plain lines."""

    category: Category
    algorithm: str
    implementation: str
    rationale: tuple[str, ...]
    """Two to four points."""


def parse_reply(text: str) -> Opinion:
    """Return the judgement in an answer.

    Raises:
        Unreadable: none, two different ones, or one with less than two points in its favour.
    """
    if len(text) > MAX_REPLY:
        raise Unreadable("it is too long")
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        text = without_thoughts(text, _holds_judgement)
    else:
        text = without_thoughts(whole, _holds_judgement) if isinstance(whole, str) else text  # JSON in a JSON string
    found, rest = _objects(text)
    if not found:
        found, rest = _objects(mend_escapes(text))
    if not found:
        raise Unreadable("there is no JSON object with a category in it")
    # Otherwise an object that is quoted inside a broken or unfinished answer would pass for the answer.
    if any(_FIELD_IN_TEXT.search(piece) or _KEY_BEFORE.search(piece) for piece in rest):
        raise Unreadable("part of another JSON object follows the first")
    opinions = [_opinion(item) for item in found]
    if len({opinion.category for opinion in opinions}) > 1:
        raise Unreadable("it holds judgements of different categories")
    return opinions[-1]


def _holds_judgement(text: str) -> bool:
    return bool(_FIELD_IN_TEXT.search(text) or _objects(text)[0])


def without_thoughts(text: str, holds_answer: Callable[[str], bool]) -> str:
    """Return the text after the thoughts of a reasoning model, which come first and end once.

    Many servers leave out the mark that begins them. What stands before the end may then be an answer as well as a
    thought, so it must not hold one.

    Args:
        holds_answer: tells whether an answer is in a text.

    Raises:
        Unreadable: thoughts and answer cannot be told apart.
    """
    marks = list(_THOUGHT.finditer(text))
    if not marks:
        return text
    end, closing = marks[-1], [bool(mark[1] or mark[2]) for mark in marks]
    begun = not closing[0] and not text[: marks[0].start()].strip()
    if not closing[-1]:
        raise Unreadable("it ends within the model's thoughts")
    if closing != ([False, True] if begun else [True]):
        raise Unreadable("thoughts and answer cannot be told apart")
    if not begun and holds_answer(text[: end.start()]):
        raise Unreadable("there are judgements on both sides of the end of the thoughts")
    return text[end.end() :]


def _objects(text: str) -> tuple[list[Mapping[str, Any]], list[str]]:
    """The objects in `text` that have a category, and the pieces of text around them."""
    decoder = json.JSONDecoder(strict=False, object_pairs_hook=_fields)
    found, rest, done, start = [], [], 0, text.find("{")
    for _ in range(_MAX_TRIES):
        if start < 0:
            break
        try:
            value, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            end = start + 1
        else:
            if item := _with_category(value):
                found.append(item)
                rest.append(text[done:start])
                done = end
        start = text.find("{", end)
    return found, [*rest, text[done:]]


def _fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object with our names for its keys; one with a duplicate key is malformed."""
    result: dict[str, Any] = {}
    for key, value in pairs:
        name = re.sub(r"[\s-]+", "_", key.strip().lower())
        name = _FIELDS.get(name, key)
        if name in result:
            raise ValueError("duplicate key")
        result[name] = value
    return result


def _with_category(value: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the object with the category, this one or one inside it; None unless it is the only one at any depth."""
    found: list[Mapping[str, Any]] = []
    waiting: list[tuple[Any, int]] = [(value, 0)]
    nested = 0
    while waiting:
        item, depth = waiting.pop()
        if isinstance(item, dict) and "category" in item:
            found.append(item)
            nested = depth
        inner = item.values() if isinstance(item, dict) else item if isinstance(item, list) else ()
        waiting += [(part, depth + 1) for part in inner]
    return found[0] if len(found) == 1 and nested <= 1 else None


def _opinion(item: Mapping[str, Any]) -> Opinion:
    category = read_category(item["category"])
    if category is None:
        raise Unreadable('the category is none of "LI", "LC", "CC"')
    algorithm, implementation = plain(_flat(item.get("algorithm"))), plain(_flat(item.get("implementation")))
    points = list(_points(item.get("rationale")))[:MAX_POINTS]
    # Fewer points than requested: the remarks on logic and implementation count as points too.
    points += [text for text in (algorithm, implementation) if text][: max(0, 2 - len(points))]
    if len(points) < 2:
        raise Unreadable("the rationale has less than two points")
    return Opinion(category, algorithm, implementation, tuple(points))


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
    line = one_line(text[: 2 * MAX_TEXT])
    return line if len(line) <= MAX_TEXT else line[: MAX_TEXT - 1] + "…"


def mend_escapes(text: str) -> str:
    """Make JSON with LaTeX in it valid: the backslash of `\\sigma` escapes nothing, and is doubled."""
    return re.sub(r'\\(["\\/bfnrt]|u[0-9a-fA-F]{4})|\\', lambda match: match[0] if match[1] else "\\\\", text)
