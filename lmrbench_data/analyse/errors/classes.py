"""The five classes of errors of the LMR-BENCH paper (Section 5.3, Figure 7), and how people name them in a file.

The paper names the classes. The prompt defines them in our words. An answer may show several; exactly
one of them is the primary one, which counts in shares that sum to 1.
"""

import re
from enum import StrEnum
from typing import NamedTuple

from lmrbench_evaluate.reports.annotations import LabelColumn


class ErrorClass(StrEnum):
    """A reason why an answer fails; the order is that of the paper's text."""

    PAPER_PARSING = "paper parsing"
    INCOMPLETE_COMPREHENSION = "incomplete comprehension"
    CODE_ROBUSTNESS = "code robustness"
    CROSS_FILE_RETRIEVAL = "cross-file retrieval"
    POLICY = "policy"


class Classes(NamedTuple):
    """The error classes of an answer."""

    primary: ErrorClass
    all: frozenset[ErrorClass]
    """The primary one among them."""

    def __str__(self) -> str:
        """The notation of label files: the primary class first."""
        return "; ".join([self.primary, *sorted(self.all - {self.primary})])


def read_class(text: str) -> ErrorClass | None:
    """Return the class that a text names and nothing else, in any case, with blanks, hyphens or underscores."""
    name = re.sub(r"[\W_]+", " ", text.lower()).strip().removesuffix(" error").removesuffix(" issue")
    return next((item for item in ErrorClass if item.replace("-", " ") == name), None)


def read_classes(text: str) -> Classes | None:
    """Return one or more classes separated by semicolons, the primary one first."""
    found = [read_class(part) for part in text.split(";")]
    named = [item for item in found if item is not None]
    return Classes(named[0], frozenset(named)) if named and len(named) == len(found) == len(set(named)) else None


def _label(text: str) -> str | None:
    classes = read_classes(text)
    return str(classes) if classes else None


#: The column of a file of people's labels.
COLUMN = LabelColumn("error", _label, f"one or more of {', '.join(ErrorClass)}, with semicolons between them,")
