"""Names that a stranger chooses: when they may name a file, their form in tables, and which look like one another.

Two names must not look the same on a leaderboard. What no reader can see is refused; what is left can still be spelled
with another alphabet's letters, so names are compared by a skeleton, and it is said which of them look alike.
The module stands alone: the leaderboard Space ships it (`cards/space`).
"""

import re
import unicodedata
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

MAX_NAME = 200
#: A name that is no path, no option and no pattern, and plain in a URL. Runs have such names.
PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
#: First characters that make a spreadsheet take a name for a formula.
FORMULA = ("=", "+", "-", "@")
#: What a font draws as nothing: Unicode's Default_Ignorable_Code_Point, and the blank of braille.
_IGNORABLE = (
    *((0x00AD, 0x00AD), (0x034F, 0x034F), (0x061C, 0x061C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F)),
    *((0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x2800, 0x2800), (0x3164, 0x3164), (0xFE00, 0xFE0F)),
    *((0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A)),
    (0xE0000, 0xE0FFF),
)


def child_path(folder: Path, name: str, suffix: str = "") -> Path:
    """The file or folder `name` + `suffix` in `folder`: the only way from text that a stranger wrote to a path.

    Raises:
        ValueError: the name is not a plain one, and might lead elsewhere.
    """
    if not PLAIN.fullmatch(name):
        raise ValueError(f"{ascii(name)[:100]} is not a plain name (letters, digits, '.', '_', '-'; at most 100)")
    return folder / f"{name}{suffix}"


def is_invisible(char: str) -> bool:
    """Whether a reader cannot see a character, or it changes how others are shown. A plain blank can be seen."""
    code = ord(char)
    return not char.isprintable() or any(first <= code <= last for first, last in _IGNORABLE)


def clean_name(text: str) -> str:
    """The form in which a name is kept: compatible characters as one (NFKC), single blanks between words, none around.

    Raises:
        ValueError: it cannot be a name; the message says why, to follow the name of the field.
    """
    # Before normalising too: that turns some of them into others, and kinds of blanks into plain ones.
    blanks = "".join(" " if unicodedata.category(char) == "Zs" else char for char in text)
    name = " ".join(unicodedata.normalize("NFKC", blanks).split())
    for char in blanks + name:
        if is_invisible(char):
            raise ValueError(f"holds U+{ord(char):04X}, which nobody can see; leave it out")
    if not 1 <= len(name) <= MAX_NAME:
        raise ValueError(f"must be text of 1 to {MAX_NAME} characters")
    if name.startswith(FORMULA):
        raise ValueError(f"must not begin with {name[0]!r}, which spreadsheets take for a formula")
    return name


#: Letters that look like Latin ones, in the case in which they do; what Unicode decomposes is not listed.
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
#: What differs less than a glance can tell, after the case is gone.
_MERGED = str.maketrans({"0": "o", "1": "l", "i": "l", "|": "l", "!": "l", "_": "-", " ": "-", "5": "s", "8": "b"})


def skeleton(name: str) -> str:
    """What is left of a name at a glance: two names with the same skeleton can be taken for one another."""
    plain = [char for char in unicodedata.normalize("NFKD", name) if not is_invisible(char)]
    letters = "".join(_LOOK.get(char, char) for char in plain if not unicodedata.combining(char)).casefold()
    dashes = "".join("-" if unicodedata.category(char) == "Pd" else char for char in letters)
    return dashes.translate(_MERGED).replace("rn", "m").replace("vv", "w")


class Owned(NamedTuple):
    """A name and whose it is."""

    name: str
    owner: str


def look_alikes(owned: Iterable[Owned]) -> dict[Owned, list[Owned]]:
    """Name → those of other owners that are spelled differently and look like it; names without any are left out."""
    groups: dict[str, list[Owned]] = {}
    for item in sorted(set(owned)):
        groups.setdefault(skeleton(item.name), []).append(item)
    found = {
        item: [other for other in group if other.owner != item.owner and other.name != item.name]
        for group in groups.values()
        for item in group
    }
    return {item: others for item, others in found.items() if others}
