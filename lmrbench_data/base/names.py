"""Untrusted names: safe file names, their form in tables, and names that look alike.

Two names must not look the same on a leaderboard. Invisible characters are refused. Letters of other alphabets can
still imitate a name, so names are compared by a skeleton, and look-alikes are reported.
The module imports the standard library alone: the leaderboard Space gets a copy of it (`cards/space`).
"""

import re
import unicodedata
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

MAX_NAME = 200
#: A name that is not a path, an option or a pattern, and needs no escaping in a URL; the form of run names.
PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
#: First characters that make a spreadsheet treat a name as a formula.
FORMULA = ("=", "+", "-", "@")
#: Characters without a glyph: Unicode's Default_Ignorable_Code_Point, and the braille blank.
_IGNORABLE = (
    *((0x00AD, 0x00AD), (0x034F, 0x034F), (0x061C, 0x061C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F)),
    *((0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x2800, 0x2800), (0x3164, 0x3164), (0xFE00, 0xFE0F)),
    *((0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A)),
    (0xE0000, 0xE0FFF),
)


def child_path(folder: Path, name: str, suffix: str = "") -> Path:
    """Return the path `name` + `suffix` in `folder`; the only function that turns untrusted text into a path.

    Raises:
        ValueError: the name is not plain and might leave the folder.
    """
    if not PLAIN.fullmatch(name):
        raise ValueError(f"{ascii(name)[:100]} is not a plain name (letters, digits, '.', '_', '-'; at most 100)")
    return folder / f"{name}{suffix}"


def is_invisible(char: str) -> bool:
    """Whether a character has no glyph or changes the display of others. A plain space is visible."""
    code = ord(char)
    return not char.isprintable() or any(first <= code <= last for first, last in _IGNORABLE)


def clean_name(text: str) -> str:
    """Normalise a name: NFKC, single spaces between words, none around.

    Raises:
        ValueError: it is not a valid name; the message completes a sentence that starts with the field's name.
    """
    # Checked before and after normalisation, which replaces some invisible characters and kinds of spaces.
    blanks = "".join(" " if unicodedata.category(char) == "Zs" else char for char in text)
    name = " ".join(unicodedata.normalize("NFKC", blanks).split())
    for char in blanks + name:
        if is_invisible(char):
            raise ValueError(f"contains the invisible character U+{ord(char):04X}; remove it")
    if not 1 <= len(name) <= MAX_NAME:
        raise ValueError(f"must be text of 1 to {MAX_NAME} characters")
    if name.startswith(FORMULA):
        raise ValueError(f"must not start with {name[0]!r}, which spreadsheets treat as a formula")
    return name


#: Letters that look like Latin ones, unless Unicode decomposes them.
_LOOK = {
    # Cyrillic
    **dict(zip("АВЕЗКМНОРСТУХЅІЈԚԜҺҮӀЬГПБ", "ABE3KMHOPCTYXSIJQWhYIbrn6", strict=True)),
    **dict(zip("авезкмнорстухѕіјԛԝһүӏьгпбԁѵԍ", "abe3kmhopctyxsijqwhylbrn6dvg", strict=True)),
    # Greek
    **dict(zip("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹ", "ABEZHIKMNOPTYXC", strict=True)),
    **dict(zip("αβγεηικμνορτυχωςσϲ", "abyenikuvoptuxwcoc", strict=True)),
    # Armenian, Hebrew, Cherokee
    **dict(zip("օոսհցզՏԼՕՍԱ", "onuhgqSLOSU", strict=True)),
    **dict(zip("סוןו", "olll", strict=True)),
    **dict(zip("ᎠᎡᎢᎪᎫᎬᎷᎻᏀᏃᏞᏢᏚᏙᏔᎳᏦᏴᏟᎽ", "DRTAJEMHGZLPSVWWKBCY", strict=True)),
    # Latin letters and signs of other kinds
    **dict(zip("ıłøđħɑɡɩʀɴʏʜʟɪɢʙꜱꜰ", "ilodhagirnyhligbsf", strict=True)),
    **dict(zip("ᴀᴄᴅᴇᴊᴋᴍᴏᴘᴛᴜᴠᴡᴢ", "acdejkmoptuvwz", strict=True)),
    **dict(zip("ŁØĐĦ⍺∨∪⁄∕⧸", "LODHavu///", strict=True)),
}
#: Characters that are easily confused after case folding.
_MERGED = str.maketrans({"0": "o", "1": "l", "i": "l", "|": "l", "!": "l", "_": "-", " ": "-", "5": "s", "8": "b"})


def skeleton(name: str) -> str:
    """Reduce a name to a skeleton; two names with the same skeleton are easily confused."""
    plain = [char for char in unicodedata.normalize("NFKD", name) if not is_invisible(char)]
    letters = "".join(_LOOK.get(char, char) for char in plain if not unicodedata.combining(char)).casefold()
    dashes = "".join("-" if unicodedata.category(char) == "Pd" else char for char in letters)
    return dashes.translate(_MERGED).replace("rn", "m").replace("vv", "w")


class Owned(NamedTuple):
    """A name and its owner."""

    name: str
    owner: str


def look_alikes(owned: Iterable[Owned]) -> dict[Owned, list[Owned]]:
    """Map each name to the look-alikes of other owners; names without look-alikes are left out."""
    groups: dict[str, list[Owned]] = {}
    for item in sorted(set(owned)):
        groups.setdefault(skeleton(item.name), []).append(item)
    found = {
        item: [other for other in group if other.owner != item.owner and other.name != item.name]
        for group in groups.values()
        for item in group
    }
    return {item: others for item, others in found.items() if others}
