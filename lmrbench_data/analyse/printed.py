"""Numbers as a paper prints them beside the counted ones: does each follow from the data?

A printed number follows if rounding the counted share to its decimals can give it. One that does not may be another
row's (rows were swapped), or no number of answers at all gives it.
"""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import ArgumentError, InputError
from .answers import Proportion

COLUMNS = ("group", "rater", "label", "percent")


class Printed(NamedTuple):
    """One number of a paper, under the names of `Measured`."""

    group: str
    rater: str
    label: str
    percent: Decimal
    """With the decimals that are printed."""


PAPER_ANSWERS = 168
#: What the LMR-BENCH paper says of its judge, of all these answers. Its other cells are not at hand: who has the paper
#: gives them as a file (`read_printed`).
PAPER = (
    Printed("all", "judge and people", "agreement", Decimal("62.5")),
    Printed("all", "judge and people", "conflict", Decimal("9.5")),
)


@dataclass(frozen=True)
class Compared:
    """A printed number beside the counted one."""

    printed: Printed
    counted: Proportion | None
    """None: the data has nothing to count."""
    follows: bool
    verdict: str
    """In words."""

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        names = {name: getattr(self.printed, name) for name in COLUMNS[:-1]}
        share = None if self.counted is None else self.counted.share
        return {**names, "percent": str(self.printed.percent), "counted": share, "follows": self.follows,
                "verdict": self.verdict}  # fmt: skip


def compare(printed: Sequence[Printed], counted: Mapping[tuple[str, str, str], Proportion]) -> list[Compared]:
    """Each printed number beside the counted one.

    Args:
        counted: group, rater, label → share.

    Raises:
        ArgumentError: a group, rater or label that occurs nowhere in `counted`.
    """
    found = []
    for item in printed:
        for position, name in enumerate(COLUMNS[:-1]):
            known = sorted({key[position] for key in counted})
            if item[position] not in known:
                raise ArgumentError("printed", f"{name} {item[position]!r} is unknown; one of: {'; '.join(known)}")
        own = counted.get((item.group, item.rater, item.label))
        follows = own is not None and rounds_to(own, item.percent)
        found.append(Compared(item, own, follows, "yes" if follows else _why_not(item, own, counted)))
    return found


def rounds_to(found: Proportion, percent: Decimal) -> bool:
    """Whether a share, in percent, rounds to a number with these decimals, by either rule for halves."""
    if not found.whole:
        return False
    exponent = percent.as_tuple().exponent
    assert isinstance(exponent, int)
    # In whole numbers: |100 part / whole - percent| <= half of the last decimal.
    half = Decimal(5).scaleb(exponent - 1)
    return abs(100 * found.part - percent * found.whole) <= half * found.whole


def _why_not(item: Printed, own: Proportion | None, counted: Mapping[tuple[str, str, str], Proportion]) -> str:
    if own is None:
        return "no: the data has no such answers"
    others = [
        group
        for (group, rater, label), share in counted.items()
        if (rater, label) == (item.rater, item.label) and group != item.group and rounds_to(share, item.percent)
    ]
    if others:
        return f"no: it is the number of {' and of '.join(others)}"
    if not any(rounds_to(Proportion(part, own.whole, own.instances), item.percent) for part in range(own.whole + 1)):
        return f"no: no count of {own.whole} gives it"
    return "no"


def read_printed(path: Path) -> list[Printed]:
    """Numbers that somebody has copied from a paper: CSV with the columns group, rater, label, percent.

    Raises:
        InputError: the file cannot be read, or a row is malformed.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise InputError(f"printed numbers {path}: {reason}") from error
    reader = csv.DictReader(io.StringIO(text, newline=""))
    if not set(COLUMNS) <= set(reader.fieldnames or ()):
        raise InputError(f"printed numbers {path}: needs the columns {', '.join(COLUMNS)}")
    found = []
    try:
        for row in reader:
            names = [(row[name] or "").strip() for name in COLUMNS]
            try:
                percent = Decimal(names[3].removesuffix("%").strip())
            except InvalidOperation:
                percent = Decimal(-1)
            if not percent.is_finite() or not 0 <= percent <= 100:
                problem = f"percent: a number from 0 to 100 is needed, found {names[3][:60]!r}"
                raise InputError(f"printed numbers {path}:{reader.line_num}: {problem}")
            found.append(Printed(names[0], names[1], names[2], percent))
    except csv.Error as error:
        raise InputError(f"printed numbers {path}:{reader.line_num}: not CSV: {error}") from error
    return found
