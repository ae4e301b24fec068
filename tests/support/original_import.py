"""Import an invented clone, by function or command, and read the reported problems."""

import subprocess
import sys
from pathlib import Path

from lmrbench_data.original.importer import ImportSummary, import_original
from support import warm_cli
from support.original_clone import Clone


def lmrbench(*arguments: object) -> subprocess.CompletedProcess[str]:
    return warm_cli.run([str(Path(sys.executable).with_name("lmrbench")), *arguments], text=True)


def messages(summary: ImportSummary, subject: str = "") -> str:
    return "\n".join(f"{item.subject}: {item.message}" for item in summary.problems if subject in item.subject)


def imported(clone: Clone) -> ImportSummary:
    return import_original(clone.root, clone.root.parent / "out")
