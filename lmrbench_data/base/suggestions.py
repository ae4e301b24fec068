"""Suggest the known name that the user probably meant."""

import difflib
import re
from collections.abc import Iterable

#: Shortest part of a name that stands for the whole.
_LEAST = 3


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return " (did you mean 'OTHER'?)" with the known name that resembles `name`; else nothing.

    A name that contains it goes first. Letter case and punctuation do not count: `gpt5` stands for
    `openai/gpt-5`.
    """
    # Sorted, because the hint must not depend on the order of a set.
    plain = {_plain(other): other for other in sorted(known, reverse=True)}
    part = _plain(name)
    longer = [other for other in plain if len(part) >= _LEAST and part in other]
    similar = sorted(longer, key=len) or difflib.get_close_matches(part, plain, n=1)
    return f" (did you mean {plain[similar[0]]!r}?)" if similar else ""


def _plain(name: str) -> str:
    return re.sub(r"[\W_]", "", name.lower()) or name
