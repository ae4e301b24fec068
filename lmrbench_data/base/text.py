"""Make untrusted text printable: replace invisible characters, join and shorten lines."""

import re
from collections.abc import Sequence

#: Replacement for an invisible character.
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def visible(text: object, keep: str = "\n\t") -> str:
    """Replace control characters, lone surrogates, and marks that change the direction of text.

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
    """Split a text at LF, CRLF and CR alone; `str.splitlines` also splits at U+2028 and others."""
    *lines, last = re.split(r"\r\n?|\n", text)
    return [*lines, last] if last else lines


def error_line(error: Exception) -> str:
    """Return the first line of an exception's message, or its type if it has none."""
    return (str(error).strip() or type(error).__name__).splitlines()[0][:300]


def cut(text: str, width: int) -> str:
    """Shorten a line to at most `width` characters, at a word boundary and with dots."""
    if len(text) <= width:
        return text
    words = text[: width - 3].rpartition(" ")[0]
    return f"{words or text[: width - 4]} ..."


def without_middle(text: str, most: int) -> str:
    """Leave out the middle of a text longer than `most`, with a note, unless that lengthens it."""
    half = most // 2
    note = f"\n[... {len(text) - 2 * half} characters are left out here ...]\n"
    shortened = f"{text[:half]}{note}{text[len(text) - half :]}"
    return shortened if most < len(text) > len(shortened) else text


def fenced(text: str, language: str = "") -> str:
    """Return a block of code in Markdown, in a fence that the text cannot close."""
    fence = "```"
    while re.search(rf"^\s*{fence}", text, re.MULTILINE):
        fence += "`"
    return f"{fence}{language}\n{text}\n{fence}"


def plural(number: int, noun: str, nouns: str = "") -> str:
    """Format a number with its noun: "1 row", "2 rows"."""
    return f"{number:,} {noun if number == 1 else nouns or noun + 's'}"


def join_names(names: Sequence[str], most: int = 5) -> str:
    """Join names, of which the first are shown: "a, b, c and 4 more"."""
    joined = ", ".join(names[:most])
    return f"{joined} and {len(names) - most} more" if len(names) > most else joined
