"""Write tables for LaTeX with booktabs; names are escaped, so that they print as they are."""

import re
from collections.abc import Sequence

from lmrbench_data.base.text import one_line

#: Character → LaTeX that prints it in any font encoding.
_ESCAPES = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "_": r"\_",
    "%": r"\%",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "[": "{[}",  # an optional argument of \\ at the start of a row
    "*": "{*}",  # likewise
    "\N{HORIZONTAL ELLIPSIS}": r"\ldots{}",
}


def escape(text: str) -> str:
    """Return LaTeX that prints a text on one line; letters beyond ASCII stay as they are."""
    escaped = "".join(_ESCAPES.get(char, char) for char in one_line(text))
    return re.sub(r"(?<=[-'`,!?])(?=[-'`,])", "{}", escaped)  # no ligature: "--" is not a dash


def signed(value: float) -> str:
    """Return a number with its sign and one digit."""
    return f"${value:+.1f}$"


def p_value(p: float) -> str:
    """Return p with three digits."""
    return r"$<$0.001" if p < 0.001 else f"{p:.3f}"


def render_tabular(about: Sequence[str], align: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a `tabular` with rules of booktabs.

    Args:
        about: lines of comment above it.
        align: a letter for each column.
        header, rows: cells, as LaTeX.
    """
    lines = [f"% {one_line(line)}" for line in about]
    lines += [rf"\begin{{tabular}}{{@{{}}{align}@{{}}}}", r"\toprule", _row(header), r"\midrule"]
    lines += [*map(_row, rows), r"\bottomrule", r"\end{tabular}"]
    return "\n".join(lines) + "\n"


def _row(cells: Sequence[str]) -> str:
    return rf"{' & '.join(cells)} \\"
