"""Untrusted names: safe paths, one form of model names, and characters that are invisible.

The module imports the standard library alone: the leaderboard Space gets a copy of it
(`cards/space`).
"""

import re
from pathlib import Path

#: Characters of a model or setting: both, in the name of a run folder, fit into the name of a file.
MAX_NAME = 150
#: A name that is not a path, an option or a pattern, and needs no escaping in a URL; the form of
#: run names.
PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
#: First characters that make a spreadsheet treat a name as a formula.
FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
#: Characters without a glyph: Unicode's Default_Ignorable_Code_Point, and the braille blank.
_IGNORABLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)


def child_path(folder: Path, name: str, suffix: str = "") -> Path:
    """Return `folder/name` + `suffix`; only this function turns untrusted text into a path.

    Raises:
        ValueError: the name is not plain and might leave the folder.
    """
    if not PLAIN.fullmatch(name):
        raise ValueError(
            f"{ascii(name)[:100]} is not a plain name (letters, digits, '.', '_', '-'; at most 100)"
        )
    return folder / f"{name}{suffix}"


def plain_name(text: str, default: str) -> str:
    """Return a text as a plain name (`PLAIN`); the default if nothing is left of it."""
    return re.sub(r"[^A-Za-z0-9._-]", "-", text)[-100:].lstrip("._-") or default


def is_invisible(char: str) -> bool:
    """Return whether a character has no glyph or changes the display of others. A space has one."""
    return not char.isprintable() or bool(_IGNORABLE.match(char))


def clean_name(text: str) -> str:
    """Return a name with single spaces; ASCII alone, because other letters look like these.

    Raises:
        ValueError: it is not a valid name; the message completes a sentence that starts with the
            field's name.
    """
    name = " ".join(text.split())
    if not (text.isascii() and text.isprintable() and 1 <= len(name) <= MAX_NAME):
        raise ValueError(f"must be 1 to {MAX_NAME} printable ASCII characters")
    if name.startswith(FORMULA):
        raise ValueError(
            f"must not start with {name[0]!r}, which spreadsheets treat as a formula; leave it out"
        )
    return name
