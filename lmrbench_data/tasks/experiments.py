"""Experiments of underspecified papers: files that print tables, and the section of results."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..loader import File
from .choices import read_text
from .print_table import DIGITS, format_table

_FOLDER = Path(__file__).parent
#: Name of the file with functions `table_<name>() -> {row label: {column: number}}`.
FILE = "experiments.py"
#: A unit of the last printed digit: tables that differ by less are equal.
ROUNDING = 10.0**-DIGITS
#: Tables that tell combinations apart differ by more.
MARGIN = 10 * ROUNDING
#: Difficulties of underspecified instances. A hard one opens all choices and mixes them in one
#: table. So does a silent one, but its paper states the published options.
EASY = "easy"
HARD = "hard"
SILENT = "silent"
DIFFICULTIES = (EASY, HARD, SILENT)
#: Difficulty → words for its rows.
ROWS = {EASY: "easy rows", HARD: "hard rows", SILENT: "silent departures"}
#: Smallest number of options of a silent instance that are not the published ones.
MIN_DEPARTURES = 2
#: Smallest and largest number of open choices of a hard or silent instance.
HARD_CHOICES = (4, 6)
#: Smallest and largest number of cells of its table.
HARD_CELLS = (6, 8)
#: table → row label → column → number
Tables = Mapping[str, Mapping[str, Mapping[str, float]]]
#: File with the part of an instruction that names the open decisions.
OPEN = _FOLDER / "open_instruction.md"
#: File with the part of a silent instruction.
DEPARTURES = _FOLDER / "silent_instruction.md"
_PRINT = _FOLDER / "print_table.py"
#: The files that only the repository of an underspecified instance has.
FILES = (FILE, _PRINT.name)
_RESULTS = "## Reported results"
#: Code holds a number of this many digits only if somebody copied it from a table.
_TELLING = 3


def experiment_files(path: Path) -> dict[str, File]:
    """Return the files that an underspecified repository has beyond the method's.

    Args:
        path: the task's file of experiments.
    """
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
    """Return the numbers in the tables of an underspecified paper that a text holds, as digits.

    Round numbers are left out. Numbers count in names and texts too (`x0824`), and longer ones also
    inside a number.
    """
    tables = paper.partition(f"\n{_RESULTS}\n")[2]
    cells = _digits(" ".join(re.findall(r"(?<=\| )-?\d+\.\d+(?= \|)", tables)))
    numbers = _digits(text)
    joined = " ".join(numbers)
    return {cell for cell in cells if cell in numbers or (len(cell) > _TELLING and cell in joined)}


def _digits(text: str) -> set[str]:
    """Return the digits of all numbers in a text: 0.0824, 8.24e-2 and 824 are all 824."""
    digits = set()
    for number in re.findall(r"\d[\d_]*\.?\d*|\.\d+", text):
        plain = "".join(str(int(char)) for char in number if char.isdecimal()).strip("0")
        if len(plain) >= _TELLING:
            digits.add(plain)
    return digits


def table_cases(names: Sequence[str]) -> bytes:
    """Return the source of cases that return the tables."""
    cases = ""
    for name in names:
        cases += f"\n\ndef case_{name}(seed):\n    return experiments.table_{name}()\n"
    return f'"""Tables that a paper reports."""\n\nimport experiments\n{cases}'.encode()
