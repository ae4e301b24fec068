"""Make untrusted text printable: replace invisible characters, join and shorten lines."""

import re
from collections.abc import Sequence

#: Replacement for an invisible character.
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def visible(text: object, keep: str = "\n\t") -> str:
    """Replace invisible characters: control characters, lone surrogates, marks that change the text's direction.

    Args:
        keep: unprintable characters to keep.
    """
    return "".join(
        char if char.isprintable() or char in keep else REPLACEMENT for char in str(text)
    )


def one_line(text: object) -> str:
    """Join a text into one line without invisible characters."""
    return visible(" ".join(str(text).split()), keep="")


def split_text(text: str) -> list[str]:
    """Split a text at LF, CRLF and CR alone; `str.splitlines` also splits at U+2028, U+0085 and form feeds."""
    *lines, last = re.split(r"\r\n?|\n", text)
    return [*lines, last] if last else lines


def error_line(error: Exception) -> str:
    """Return the first line of an exception's message, or its type if it has none."""
    return (str(error).strip() or type(error).__name__).splitlines()[0][:300]


def cut(text: str, width: int) -> str:
    """Shorten a line to at most `width` characters, at a word boundary and with dots."""
    return (
        text
        if len(text) <= width
        else f"{text[: width - 3].rpartition(' ')[0] or text[: width - 4]} ..."
    )


def without_middle(text: str, most: int) -> str:
    """Leave out the middle of a text of more than `most` characters, with a note, unless that lengthens the text."""
    half = most // 2
    note = f"\n[... {len(text) - 2 * half} characters are left out here ...]\n"
    shortened = f"{text[:half]}{note}{text[len(text) - half :]}"
    return shortened if most < len(text) > len(shortened) else text


def plural(number: int, noun: str, nouns: str = "") -> str:
    """Format a number with its noun: "1 row", "2 rows"."""
    return f"{number:,} {noun if number == 1 else nouns or noun + 's'}"


def join_names(names: Sequence[str], most: int = 5) -> str:
    """Join names, of which the first are shown: "a, b, c and 4 more"."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
