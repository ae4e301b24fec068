"""Names of models in figures: one for each score, short enough for a column, and still different when cut."""

import re
from collections.abc import Sequence

from lmrbench_data.base.text import one_line

from ..score_tables import column
from ..scores import ModelScore

#: Characters after which a name may continue on the next line.
_BREAKS = re.compile(r"(?<=[ /_:,@-])")


def model_names(scores: Sequence[ModelScore]) -> list[str]:
    """Return a name for each score of one track and setting, as in the report's tables."""
    return [one_line(column(score, scores)) + ("" if score.complete else " [incomplete]") for score in scores]


def short_names(names: Sequence[str], most: int) -> list[str]:
    """Cut names of more than `most` characters in the middle; names that would become equal keep more."""
    while len(set(short := [_cut(name, most) for name in names])) < len(set(names)):
        most += 20
    return short


def _cut(name: str, most: int) -> str:
    half = most // 2
    return name if len(name) <= most else f"{name[:half]}\N{HORIZONTAL ELLIPSIS}{name[1 - half :]}"


def wrapped(name: str, width: int) -> str:
    """Break a name into lines of at most `width` characters, after punctuation where possible."""
    lines = [""]
    for part in filter(None, _BREAKS.split(name)):
        if lines[-1] and len(lines[-1]) + len(part.rstrip()) > width:
            lines.append("")
        lines[-1] += part
    cut = [line[start : start + width] for line in lines for start in range(0, max(len(line.rstrip()), 1), width)]
    return "\n".join(map(str.strip, cut))
