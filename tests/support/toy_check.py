"""Run `dataset check` on the toy benchmark after an edit."""

import shutil
import sys
from pathlib import Path

from lmrbench.checks.check import check_tasks
from lmrbench.checks.record import record_tasks
from lmrbench.checks.trials import VARIANTS
from lmrbench_data.tasks.task_folders import load_tasks
from lmrbench_evaluate.sandbox.base import Sandbox

TASK = "90-toy"

LMRBENCH = str(Path(sys.executable).with_name("lmrbench"))


def check(folder: Path, sandbox: Sandbox) -> dict[str, str]:
    """Return the errors of the toy benchmark by place. Variants are left out for speed."""
    shutil.rmtree(folder / TASK / "variants")
    return {where: message for where, message in errors(folder, sandbox).items() if where not in VARIANTS}


def errors(folder: Path, sandbox: Sandbox, config: str = "function") -> dict[str, str]:
    """Record a configuration of a benchmark, and return the errors of its check by place."""
    tasks = load_tasks(benchmark=folder, config=config)
    list(record_tasks(tasks, sandbox))
    return {item.where: item.message for item in check_tasks(tasks, sandbox) if item.is_error}


def edit(folder: Path, name: str, old: str, new: str) -> None:
    text = (folder / TASK / name).read_text()
    assert old in text
    (folder / TASK / name).write_text(text.replace(old, new))
