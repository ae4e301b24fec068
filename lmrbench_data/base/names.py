"""Untrusted names: safe file names, and one printable form without invisible characters.

The module imports the standard library alone: the leaderboard Space gets a copy of it (`cards/space`).
"""

import hashlib
import os
import re
import unicodedata
from pathlib import Path

MAX_NAME = 200
#: Bytes that the name of a file has on every file system, an encrypted one included.
MAX_BYTES = 143
#: A name that is not a path, an option or a pattern, and needs no escaping in a URL; the form of run names.
PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
#: First characters that make a spreadsheet treat a name as a formula.
FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
#: Characters without a glyph: Unicode's Default_Ignorable_Code_Point, and the braille blank.
_IGNORABLE = (
    *((0x00AD, 0x00AD), (0x034F, 0x034F), (0x061C, 0x061C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F)),
    *((0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x2800, 0x2800), (0x3164, 0x3164), (0xFE00, 0xFE0F)),
    *((0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A)),
    (0xE0000, 0xE0FFF),
)
#: Characters that look like a dash, a slash or a colon.
_LIKE_ASCII = str.maketrans(
    dict.fromkeys("\u2010\u2012\u2013\u2014\u2015\u2043\u2212\u2500\u2e3a\u2e3b\u30a0", "-")
    | dict.fromkeys("\u2044\u2215\u29f8\u2571", "/")
    | dict.fromkeys("\u02d0\u05c3\u2236\ua789", ":")
)
#: Scripts that are written beside Latin, and whose letters look like none of it.
_BESIDE_LATIN = {"CJK", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO"}


def child_path(folder: Path, name: str, suffix: str = "") -> Path:
    """Return the path `name` + `suffix` in `folder`; the only function that turns untrusted text into a path.

    Raises:
        ValueError: the name is not plain and might leave the folder.
    """
    if not PLAIN.fullmatch(name):
        raise ValueError(f"{ascii(name)[:100]} is not a plain name (letters, digits, '.', '_', '-'; at most 100)")
    return folder / f"{name}{suffix}"


def file_name(text: str, suffix: str = "") -> str:
    """Return text and suffix as the name of a file; the end of one that is too long is replaced by a hash."""
    data = os.fsencode(text)
    if len(data) > (room := MAX_BYTES - len(suffix)):
        text = f"{data[: room - 9].decode(errors='ignore')}-{hashlib.sha256(data).hexdigest()[:8]}"
    return text + suffix


def is_invisible(char: str) -> bool:
    """Return whether a character has no glyph or changes the display of others. A plain space is visible."""
    code = ord(char)
    return not char.isprintable() or any(first <= code <= last for first, last in _IGNORABLE)


def clean_name(text: str) -> str:
    """Normalise a name: NFKC, single spaces between words, none around, ASCII for what looks like its dash and slash.

    Letters of two alphabets are refused, because those that look alike would make two names of one.

    Raises:
        ValueError: it is not a valid name; the message completes a sentence that starts with the field's name.
    """
    # Checked before and after normalisation, which replaces some invisible characters and kinds of spaces.
    blanks = "".join(" " if unicodedata.category(char) == "Zs" else char for char in text)
    name = " ".join(unicodedata.normalize("NFKC", blanks).translate(_LIKE_ASCII).split())
    for char in blanks + name:
        if is_invisible(char):
            raise ValueError(f"contains the invisible character U+{ord(char):04X}; remove it")
    scripts = sorted({_script(char) for char in name if char.isalpha()} - _BESIDE_LATIN)
    if len(scripts) > 1:
        raise ValueError(f"mixes letters of {' and '.join(scripts)}, some of which look alike; use those of one")
    if not 1 <= len(name) <= MAX_NAME:
        raise ValueError(f"must be text of 1 to {MAX_NAME} characters")
    if name.startswith(FORMULA):
        raise ValueError(f"must not start with {name[0]!r}, which spreadsheets treat as a formula; leave it out")
    return name


def _script(letter: str) -> str:
    """Return the script of a letter, the first word of its name; phonetic letters look like others of Latin."""
    return "IPA" if "\u0250" <= letter < "\u02b0" else unicodedata.name(letter, "UNKNOWN").split()[0]
