"""Make a private set: altered papers that were never published, drawn by a seed and recorded now."""

import dataclasses
import random
from collections.abc import Iterator, Mapping, Sequence

from lmrbench_data.base.errors import InputError
from lmrbench_data.base.progress import Progress
from lmrbench_data.dataset.build import build_row
from lmrbench_data.dataset.rows import DatasetRow
from lmrbench_data.loader import COUNTERFACTUAL
from lmrbench_data.tasks.choices import MIN_ALTERED, draw
from lmrbench_data.tasks.manifest import load_benchmark
from lmrbench_data.tasks.task import Altered, Task, Underspecified

from ..sandbox.base import Sandbox
from .choices import choice_problems
from .references import record
from .tables import table_errors


def make_private_set(
    tasks: Sequence[Task],
    config: str,
    seed: int,
    per_paper: int,
    sandbox: Sandbox,
    progress: Progress | None = None,
) -> list[DatasetRow]:
    """Draw combinations of options that are not in the benchmark, record them, and return their rows.

    Nothing is written beside the tasks. An underspecified paper leaves the same choices open as the published one of
    its task; a combination that its tables do not single out is skipped.

    Args:
        tasks: those without instances of the configuration are left out.
        config: `counterfactual` or `underspecified`.
        seed: seed of the draws; each paper has a draw of its own, which stays the same when other papers change.
        per_paper: number of rows of each paper; fewer if the combinations run out.

    Raises:
        InputError: no task has such instances, a reference failed, or a recording of an option is out of date.
        InfraError: the machinery failed.
    """
    chosen = [task for task in tasks if task.instances_of(config)]
    if not chosen:
        raise InputError(f"no task has the configuration {config}, so there is nothing to draw; see CONTRIBUTING.md")
    progress = progress or Progress()
    progress.start(per_paper * len(chosen))
    rows: list[DatasetRow] = []
    for task in chosen:
        numbers = random.Random(f"{task.name} {seed}")
        drawn = _counterfactuals if config == COUNTERFACTUAL else _underspecified
        found = 0
        for combination in drawn(task, numbers):
            if found == per_paper:
                break
            name = f"{task.name.partition('-')[2]}-{config}-s{seed}-{found + 1}"
            if row := _row(task, dataclasses.replace(combination, instance_id=name), sandbox):
                rows.append(row)
                found += 1
                progress.step(name)
    return sorted(rows, key=lambda row: row["instance_id"])


def _counterfactuals(task: Task, numbers: random.Random) -> Iterator[Altered]:
    known = [item.chosen for item in task.counterfactuals]
    for chosen in draw(task.choices, numbers, known, at_least=MIN_ALTERED):
        yield dataclasses.replace(task.counterfactuals[0], chosen=chosen)


def _underspecified(task: Task, numbers: random.Random) -> Iterator[Altered]:
    template = numbers.choice(task.underspecified)
    known: list[Mapping[str, str]] = [item.chosen for item in task.underspecified if item.open == template.open]
    opened = [choice for choice in task.choices if choice.name in template.open]
    for chosen in draw(opened, numbers, known, at_least=1):
        yield dataclasses.replace(template, chosen=chosen)


def _row(task: Task, item: Altered, sandbox: Sandbox) -> DatasetRow | None:
    """Record an instance and return its row; None if its tables do not settle its open choices.

    Raises:
        InputError: its reference failed, or choices are not independent.
        InfraError: the machinery failed.
    """
    recording = record(task, item, sandbox)
    row = build_row(task, item, load_benchmark(task.folder.parent), task.image_tag, recording)
    if problem := next(choice_problems(row), None):
        raise InputError(str(problem))
    if isinstance(item, Underspecified):
        errors = table_errors(task, item, recording.tables, sandbox, sandbox.prepare(task.image_tag))
        if any(error for _, error, _ in errors):
            return None
    return row
