"""Experiments of underspecified papers: the files that print their tables, and the section that reports results."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..loader import File
from .choices import read_text
from .print_table import DIGITS, format_table

#: Name of the file with functions `table_<name>() -> {row label: {column: number}}`.
FILE = "experiments.py"
#: A unit of the last printed digit: tables that differ by less are equal.
ROUNDING = 10.0**-DIGITS
#: Tables that tell combinations apart differ by more.
MARGIN = 10 * ROUNDING
#: Difficulties of underspecified instances. A hard one opens all choices and mixes them in one table. So does a silent
#: one, but its paper states the published options.
DIFFICULTIES = EASY, HARD, SILENT = "easy", "hard", "silent"
#: Difficulty → words for its rows.
ROWS = {EASY: "easy rows", HARD: "hard rows", SILENT: "silent departures"}
#: Smallest number of options of a silent instance that are not the published ones.
MIN_DEPARTURES = 2
#: Smallest and largest number of open choices of a hard or silent instance, and the same of cells.
HARD_CHOICES, HARD_CELLS = (4, 6), (6, 8)
#: table → row label → column → number
Tables = Mapping[str, Mapping[str, Mapping[str, float]]]
#: Part of an underspecified instruction.
OPEN = """The paper leaves these decisions open:

{questions}
Its last section reports results. Decide so that the repository's experiments print the same tables;
`python print_table.py NAME` prints one. All experiments together may take {cpu_s} seconds of CPU time."""
#: Part of a silent instruction.
DEPARTURES = """The paper's description is complete. But the implementation that computed the results in its last
section departs from the description in {least} to {most} places. Such a place is one decision of the method (a
formula, a set, an order, a reduction) that the text states and the implementation takes otherwise, by a plausible
alternative that a researcher of the field might have chosen; everything else is as described. The paper does not say
where. The numbers are right. If any one of the departures is undone and the others stay, every number changes by more
than ten units of its last digit; a change in the last bit of intermediate results moves no number by more than one
unit. Of all combinations of the alternatives that were considered, only this one gives these numbers.

Write the functions so that the repository's experiments print the same table (`python print_table.py {table}`). Hidden
tests compare your functions with that implementation, also on other inputs. All experiments together may take {cpu_s}
seconds of CPU time."""
_PRINT = Path(__file__).with_name("print_table.py")
#: The files that only the repository of an underspecified instance has.
FILES = (FILE, _PRINT.name)
_RESULTS = "## Reported results"
#: Digits of a number that code holds only if somebody copied it from a table.
_TELLING = 3


def experiment_files(path: Path) -> dict[str, File]:
    """Return the files that an underspecified repository has beyond the method's; `path` is experiments.py."""
    return {FILE: File(read_text(path).encode()), _PRINT.name: File(_PRINT.read_bytes())}


def tables_section(tables: Tables) -> str:
    """Return the last section of an underspecified paper; empty without tables."""
    if not tables:
        return ""
    text = f"\n{_RESULTS}\n\nThe experiments of the repository print these tables.\n"
    for name, table in tables.items():
        rows = {label: dict(cells) for label, cells in table.items()}
        text += f"\n`python {_PRINT.name} {name}`:\n\n{format_table(rows)}"
    return text


def reported_in(text: str, paper: str) -> set[str]:
    """Return the digits of the numbers in the tables of an underspecified paper, without round ones, that a text holds.

    Numbers count in names and texts too (`x0824`), and longer ones also inside a number.
    """
    cells = _digits(
        " ".join(re.findall(r"(?<=\| )-?\d+\.\d+(?= \|)", paper.partition(f"\n{_RESULTS}\n")[2]))
    )
    numbers = _digits(text)
    return {
        cell
        for cell in cells
        if cell in numbers or (len(cell) > _TELLING and any(cell in n for n in numbers))
    }


def _digits(text: str) -> set[str]:
    """Return the digits of all numbers in a text, whatever their scale: 0.0824, 8.24e-2 and 824 are 824."""
    numbers = re.findall(r"\d[\d_]*\.?\d*|\.\d+", text)
    digits = {
        "".join(str(int(char)) for char in number if char.isdecimal()).strip("0")
        for number in numbers
    }
    return {number for number in digits if len(number) >= _TELLING}


def table_cases(names: Sequence[str]) -> bytes:
    """Return the source of cases that return the tables."""
    cases = "".join(
        f"\n\ndef case_{name}(seed):\n    return experiments.table_{name}()\n" for name in names
    )
    return f'"""Tables that a paper reports."""\n\nimport experiments\n{cases}'.encode()
