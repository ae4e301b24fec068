"""The judge's three categories, and how a text that names one is read."""

import re
from enum import StrEnum
from typing import Any


class Category(StrEnum):
    """Correctness of a candidate, from most to least severe."""

    LI = "LI"
    LC = "LC"
    CC = "CC"

    @property
    def full_name(self) -> str:
        """The name in the benchmark's paper."""
        return _TITLES[self]


#: From completely correct to incorrect logic: the order in which categories are shown.
BEST_FIRST = tuple(reversed(Category))
_TITLES = {
    Category.LI: "Incorrect logic",
    Category.LC: "Logic correct, subtle errors",
    Category.CC: "Completely correct",
}
#: Spellings of the categories in lower case; each run of characters other than letters and digits is one blank.
_NAMES = {
    Category.LI: ("1", "li", "incorrect logic", "logic incorrect", "logic is incorrect"),
    Category.LC: (
        "2",
        "lc",
        *(
            f"{logic} {joint}subtle {errors}"
            for logic in ("logic correct", "correct logic", "logic is correct")
            for joint in ("", "with ", "but ", "but with ")
            for errors in ("error", "errors")
        ),
    ),
    Category.CC: ("3", "cc", "completely correct"),
}
_BY_NAME = {name: category for category, names in _NAMES.items() for name in names}
_NAME = re.compile(rf"(?:{'|'.join(sorted(_BY_NAME, key=len, reverse=True))})(?= |$) ?")
_LABEL = re.compile(r"^(?:final )?(?:category|class|classification|verdict|label|answer)(?: is)? ")


def read_category(value: Any) -> Category | None:
    """Return the category that `value` names and nothing else: "CC", 3, "3", "**3: Completely correct (CC)**".

    None for a text with any other word ("not completely correct") or with names of two categories.
    """
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    if not isinstance(value, str):
        return _BY_NAME.get(str(int(value))) if value in (1, 2, 3) else None
    if len(value) > 200:
        return None
    text = _LABEL.sub("", re.sub(r"[\W_]+", " ", value.lower()).strip())
    found = set()
    while match := _NAME.match(text):
        found.add(_BY_NAME[match[0].strip()])
        text = text[match.end() :]
    return found.pop() if len(found) == 1 and not text else None
