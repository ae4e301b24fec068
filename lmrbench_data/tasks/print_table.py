"""Print a table of experiments.py as the paper shows it: `python print_table.py NAME`."""

import importlib
import sys

#: Digits after the decimal point.
DIGITS = 4


def format_table(table: dict[str, dict[str, float]]) -> str:
    """Return a Markdown table of rows (label -> column -> number)."""
    columns = list(dict.fromkeys(column for cells in table.values() for column in cells))
    lines = [["", *columns], ["---"] * (len(columns) + 1)]
    for label, cells in table.items():
        lines.append([label, *(f"{cells[column]:.{DIGITS}f}" if column in cells else "" for column in columns)])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def main() -> None:
    """Run the experiments of the named table and print it."""
    experiments = importlib.import_module("experiments")
    known = [name.removeprefix("table_") for name in vars(experiments) if name.startswith("table_")]
    if len(sys.argv) != 2 or sys.argv[1] not in known:
        sys.exit(f"usage: python print_table.py {'|'.join(known)}")
    print(format_table(getattr(experiments, f"table_{sys.argv[1]}")()), end="")


if __name__ == "__main__":
    main()
