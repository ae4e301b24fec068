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
_IGNORABLE = (
    *((0x00AD, 0x00AD), (0x034F, 0x034F), (0x061C, 0x061C), (0x115F, 0x1160), (0x17B4, 0x17B5)),
    *((0x180B, 0x180F), (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x2800, 0x2800)),
    *((0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8)),
    *((0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF)),
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
    code = ord(char)
    return not char.isprintable() or any(first <= code <= last for first, last in _IGNORABLE)


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
