"""Text of a stranger's choosing, made fit to be shown: what no reader can see is replaced, lines are joined or cut."""

#: Stands for a character that cannot be seen.
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def visible(text: object, keep: str = "\n\t") -> str:
    """Text without what no reader can see: control characters, half surrogate pairs, marks that turn its direction.

    Args:
        keep: characters that stay although they are not printable.
    """
    return "".join(char if char.isprintable() or char in keep else REPLACEMENT for char in str(text))


def one_line(text: object) -> str:
    """All of a text on one line, without what no reader can see."""
    return visible(" ".join(str(text).split()), keep="")


def error_line(error: Exception) -> str:
    """The first line of what an exception says, or its type if it says nothing."""
    return (str(error).strip() or type(error).__name__).splitlines()[0][:300]


def cut(text: str, width: int) -> str:
    """A line of at most `width` characters; a longer one ends between two words, with dots."""
    return text if len(text) <= width else f"{text[: width - 3].rpartition(' ')[0] or text[: width - 4]} ..."


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun: "1 row", "2 rows"."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
