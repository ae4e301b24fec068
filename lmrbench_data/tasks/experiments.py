"""Experiments of underspecified papers: the files that print their tables, and the section that reports results."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from ..base.errors import InputError
from ..loader import File
from .print_table import DIGITS, format_table

#: Name of the file with functions `table_<name>() -> {row label: {column: number}}`.
FILE = "experiments.py"
#: A unit of the last printed digit: tables that differ by less are equal.
ROUNDING = 10.0**-DIGITS
#: Tables that tell combinations apart differ by more.
MARGIN = 10 * ROUNDING
#: table → row label → column → number
Tables = Mapping[str, Mapping[str, Mapping[str, float]]]
#: Part of an underspecified instruction.
OPEN = """The paper leaves these decisions open:

{questions}
Its last section reports results. Decide so that the repository's experiments print the same tables;
`python print_table.py NAME` prints one. All experiments together may take {cpu_s} seconds of CPU time."""
_PRINT = Path(__file__).with_name("print_table.py")


def experiment_files(folder: Path) -> dict[str, File]:
    """Return the files that an underspecified repository has beyond the method's.

    Raises:
        InputError: the task has no experiments.
    """
    path = folder / FILE
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(
            f"{path}: cannot be read ({type(error).__name__}); write the functions of its tables"
        ) from error
    return {FILE: File(content), _PRINT.name: File(_PRINT.read_bytes())}


def tables_section(tables: Tables) -> str:
    """Return the last section of an underspecified paper; empty without tables."""
    if not tables:
        return ""
    text = "\n## Reported results\n\nThe experiments of the repository print these tables.\n"
    for name, table in tables.items():
        rows = {label: dict(cells) for label, cells in table.items()}
        text += f"\n`python {_PRINT.name} {name}`:\n\n{format_table(rows)}"
    return text


def table_cases(names: Sequence[str]) -> bytes:
    """Return the source of cases that return the tables."""
    cases = "".join(f"\n\ndef case_{name}(seed):\n    return experiments.table_{name}()\n" for name in names)
    return f'"""Tables that a paper reports."""\n\nimport experiments\n{cases}'.encode()
