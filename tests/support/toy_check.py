"""Run `dataset check` on the toy benchmark after an edit."""

import shutil
import sys
from pathlib import Path

from lmrbench_data.tasks.task_folders import load_tasks
from lmrbench_evaluate.checks.check import check_tasks
from lmrbench_evaluate.checks.record import record_tasks
from lmrbench_evaluate.checks.trials import VARIANTS
from lmrbench_evaluate.sandbox.base import Sandbox

TASK = "90-toy"


LMRBENCH = str(Path(sys.executable).with_name("lmrbench"))


def check(folder: Path, sandbox: Sandbox) -> dict[str, str]:
    """Return the errors of the toy benchmark by place. Variants are left out for speed."""
    shutil.rmtree(folder / TASK / "variants")
    tasks = load_tasks(benchmark=folder)
    list(record_tasks(tasks, sandbox))
    findings = check_tasks(tasks, sandbox)
    return {item.where: item.message for item in findings if item.is_error and item.where not in VARIANTS}


def edit(folder: Path, name: str, old: str, new: str) -> None:
    text = (folder / TASK / name).read_text()
    assert old in text
    (folder / TASK / name).write_text(text.replace(old, new))
