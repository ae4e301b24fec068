"""Suggest the known name that the user probably meant: the one hint for instances, models, options and columns."""

import difflib
import re
from collections.abc import Iterable

#: Shortest part of a name that stands for the whole.
LEAST = 3


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that `name` resembles most, or that contains it; None if none does.

    Letter case and punctuation do not count: `gpt5` stands for `openai/gpt-5`.
    """
    # Sorted, because the hint must not depend on the order of a set.
    plain = {_plain(other): other for other in sorted(known, reverse=True)}
    wanted = _plain(name)
    if near := difflib.get_close_matches(wanted, plain, n=1):
        return plain[near[0]]
    holders = [other for other in plain if len(wanted) >= LEAST and wanted in other]
    return plain[min(holders, key=len)] if holders else None


def _plain(name: str) -> str:
    return re.sub(r"[\W_]", "", name.lower()) or name


def did_you_mean(name: str, known: Iterable[str], *, within: bool = False) -> str:
    """Return "; did you mean 'NAME'?" for a message about an unknown name; empty if none resembles it.

    Args:
        within: whether the sentence continues; the question is then in brackets.
    """
    near = nearest(name, known)
    if near is None:
        return ""
    return f" (did you mean {near!r}?)" if within else f"; did you mean {near!r}?"
