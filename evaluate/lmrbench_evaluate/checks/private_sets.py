"""Make a private set: counterfactuals that were never published, drawn by a seed and recorded now."""

import dataclasses
import random
from collections.abc import Sequence

from lmrbench_data.base.errors import InputError
from lmrbench_data.base.progress import Progress
from lmrbench_data.dataset.build import build_row
from lmrbench_data.dataset.rows import DatasetRow
from lmrbench_data.tasks.choices import draw
from lmrbench_data.tasks.manifest import load_benchmark
from lmrbench_data.tasks.task import COUNTERFACTUAL, Altered, Task

from ..sandbox.base import Sandbox
from .choices import choice_problems
from .references import record


def drawn_counterfactuals(tasks: Sequence[Task], seed: int, per_paper: int) -> list[Task]:
    """Return the tasks that have choices, each with counterfactuals drawn by a seed.

    Raises:
        InputError: no task has choices.
    """
    found = []
    for task in tasks:
        if not task.counterfactuals:
            continue
        # A draw of its own for each paper: it stays the same when other papers change.
        numbers = random.Random(f"{task.name} {seed}")
        known = [item.chosen for item in task.counterfactuals]
        combinations = draw(task.choices, per_paper, numbers, known)
        slug, template = task.name.partition("-")[2], task.counterfactuals[0]
        items = tuple(
            dataclasses.replace(template, instance_id=f"{slug}-{COUNTERFACTUAL}-s{seed}-{number}", chosen=chosen)
            for number, chosen in enumerate(combinations, start=1)
        )
        found.append(dataclasses.replace(task, instances=items))
    if not found:
        raise InputError("no task has choices, so there is nothing to draw; see CONTRIBUTING.md")
    return found


def record_private_set(tasks: Sequence[Task], sandbox: Sandbox, progress: Progress | None = None) -> list[DatasetRow]:
    """Record drawn counterfactuals and return their rows; nothing is written beside the tasks.

    Raises:
        InputError: a reference failed, a recording of an option is out of date, or choices are not independent.
        InfraError: the machinery failed.
    """
    progress = progress or Progress()
    progress.start(sum(len(task.instances) for task in tasks))
    rows = []
    for task in tasks:
        benchmark = load_benchmark(task.folder.parent)
        for item in task.instances:
            assert isinstance(item, Altered)
            row = build_row(task, item, benchmark, task.image_tag, record(task, item, sandbox))
            if problem := next(choice_problems(row), None):
                raise InputError(str(problem))
            rows.append(row)
            progress.step(item.instance_id)
    return sorted(rows, key=lambda row: row["instance_id"])
