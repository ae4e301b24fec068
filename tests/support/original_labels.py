"""The original's published labels, and `lmrbench analyse` on them or on runs."""

import sys
from pathlib import Path
from typing import Any

from support import warm_cli

LABELS = Path(__file__).resolve().parents[2] / "lmrbench_data" / "original" / "labels.csv"


def command(*arguments: str | Path) -> Any:
    """Run `lmrbench analyse ...` in a separate process."""
    program = [sys.executable, "-c", "from lmrbench_data.cli import main; main()", "analyse", *map(str, arguments)]
    return warm_cli.run(program, capture_output=True, text=True)
