"""The labels that the original published, and `lmrbench analyse` over them or over runs."""

import sys
from pathlib import Path
from typing import Any

from support import warm_cli

LABELS = Path(__file__).resolve().parents[2] / "lmrbench_data" / "original" / "labels.csv"


def command(*arguments: str | Path) -> Any:
    """`lmrbench analyse ...` in a process of its own."""
    program = [sys.executable, "-c", "from lmrbench_data.cli import main; main()", "analyse", *map(str, arguments)]
    return warm_cli.run(program, capture_output=True, text=True)
