"""Make a private set: unpublished altered papers, drawn by a seed and recorded now."""

import contextlib
import dataclasses
import random
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lmrbench_data.base.errors import InputError
from lmrbench_data.base.jobs import Progress, run_jobs
from lmrbench_data.dataset.build import build_row, refuse_foreign, write_dataset
from lmrbench_data.dataset.rows import DatasetRow
from lmrbench_data.loader import COUNTERFACTUAL, LoadError, load_rows, row_sha256
from lmrbench_data.tasks.choices import MIN_ALTERED, draw
from lmrbench_data.tasks.experiments import MIN_DEPARTURES, SILENT
from lmrbench_data.tasks.manifest import load_benchmark
from lmrbench_data.tasks.recordings import Recording
from lmrbench_data.tasks.task import Altered, Task
from lmrbench_evaluate.sandbox.base import Sandbox

from .choices import choice_problems
from .references import record
from .tables import table_errors


def make_private_set(
    out: Path,
    tasks: Sequence[Task],
    config: str,
    seed: int,
    per_paper: int,
    sandbox: Sandbox,
    *,
    workers: int = 2,
    progress: Progress | None = None,
) -> list[DatasetRow]:
    """Draw combinations of options that are not in the benchmark; record, prove and write each row.

    Nothing is written beside the tasks. Rows of an earlier call that was stopped are kept if the
    present tasks still give them. An underspecified paper leaves the same choices open as the
    published one of its task; a combination that its tables do not single out is skipped.

    Args:
        tasks: each has instances of the configuration.
        seed: seed of the draws; the draw of a paper stays the same when other papers change.
        per_paper: number of rows of each paper; fewer if the combinations run out.
        progress: receives a step for each row.

    Raises:
        InputError: the folder holds something else, there are no tasks, no combination gives a row,
            a reference failed, or a recording of an option is out of date.
        InfraError: the machinery failed.
    """
    refuse_foreign(out)
    if not tasks:
        raise InputError(
            f"no task has such rows of {config}, so there is nothing to draw; see CONTRIBUTING.md"
        )
    earlier = _earlier_rows(out, config, seed)
    progress = progress or Progress()
    progress.start(per_paper * len(tasks))
    papers = [_rows(task, config, seed, earlier, sandbox) for task in tasks]
    benchmark = load_benchmark(tasks[0].folder.parent)
    made: dict[str, DatasetRow] = {}
    for row in _first_rows(papers, per_paper, workers):
        made[row["instance_id"]] = row
        progress.step("rows")
        write_dataset(_sorted({**earlier, **made}), out, benchmark)
    if not made:
        reason = "the combinations that are left are published, or no table singles them out"
        fix = "draw for other papers or another difficulty"
        raise InputError(f"no row can be drawn: {reason}; {fix}")
    write_dataset(_sorted(made), out, benchmark)
    return list(made.values())


def _earlier_rows(out: Path, config: str, seed: int) -> dict[str, DatasetRow]:
    """Return the rows that an earlier call with this seed has written."""
    rows: list[Any] = []
    if out.is_dir():
        with contextlib.suppress(LoadError):  # of another configuration
            rows = load_rows(out, config)
    return {row["instance_id"]: row for row in rows if f"-s{seed}-" in row["instance_id"]}


def _first_rows(
    papers: Sequence[Iterator[DatasetRow]], per_paper: int, workers: int
) -> Iterator[DatasetRow]:
    """Yield the first rows of several papers, one of each in turn."""
    for _ in range(per_paper):
        with contextlib.closing(run_jobs(papers, lambda rows: next(rows, None), workers)) as done:
            for _, future in done:
                row = future.result()
                if row:
                    yield row


def _sorted(rows: Mapping[str, DatasetRow]) -> list[DatasetRow]:
    return [rows[name] for name in sorted(rows)]


def of_difficulty(task: Task, difficulty: str) -> Task:
    """Return a task whose underspecified papers have a difficulty."""
    chosen = tuple(item for item in task.underspecified if item.difficulty == difficulty)
    return dataclasses.replace(task, underspecified=chosen)


def _rows(
    task: Task,
    config: str,
    seed: int,
    earlier: Mapping[str, DatasetRow],
    sandbox: Sandbox,
) -> Iterator[DatasetRow]:
    """Yield the rows of one paper, until its combinations run out."""
    queue = _draw_queue(task, config, seed)
    slug = task.name.partition("-")[2]
    number = 1
    while queue:
        name = f"{slug}-{config}-s{seed}-{number}"
        row = earlier.get(name)
        if row is None or not _pop_current(task, queue, row):
            item = dataclasses.replace(queue.popleft(), instance_id=name)
            row = _row(task, item, sandbox)
        if row:
            yield row
            number += 1


def _draw_queue(task: Task, config: str, seed: int) -> deque[Altered]:
    numbers = random.Random(f"{task.name} {seed}")
    if config == COUNTERFACTUAL:
        return deque(_counterfactuals(task, numbers))
    return deque(_underspecified(task, numbers))


def _pop_current(task: Task, queue: deque[Altered], row: DatasetRow) -> bool:
    """Remove the combination of a row, and those skipped before it; return whether there is one."""
    if not any(_is_current(task, item, row) for item in queue):
        return False
    while not _is_current(task, queue.popleft(), row):
        pass
    return True


def _counterfactuals(task: Task, numbers: random.Random) -> Iterator[Altered]:
    published = [item.chosen for item in task.counterfactuals]
    for chosen in draw(task.choices, numbers, published, at_least=MIN_ALTERED):
        yield dataclasses.replace(task.counterfactuals[0], chosen=chosen)


def _underspecified(task: Task, numbers: random.Random) -> Iterator[Altered]:
    template = numbers.choice(task.underspecified)
    alike = [item for item in task.underspecified if item.open == template.open]
    published = [item.chosen for item in alike]
    opened = [choice for choice in task.choices if choice.name in template.open]
    least = MIN_DEPARTURES if template.difficulty == SILENT else 1
    for chosen in draw(opened, numbers, published, at_least=least):
        yield dataclasses.replace(template, chosen=chosen)


def _is_current(task: Task, item: Altered, row: DatasetRow) -> bool:
    """Return whether the present task gives this row with its recorded outputs and tables."""
    stated = {choice["name"]: choice["stated"] for choice in row["choices"]}
    if stated != {choice.name: item.option_of(choice) for choice in task.choices}:
        return False
    facts = row["recording"]
    machine = (facts["image"], facts["sandbox"], facts["cpu"])
    recording = Recording(row["tests"]["cases"], row["expected"], *machine)
    new = build_row(task, dataclasses.replace(item, instance_id=row["instance_id"]), recording)
    # The row's paper ends with the recorded tables.
    same = row_sha256({**new, "paper_text": row["paper_text"]}) == row["row_sha256"]
    return same and row["paper_text"].startswith(new["paper_text"])


def _row(task: Task, item: Altered, sandbox: Sandbox) -> DatasetRow | None:
    """Record an instance and return its row; None if its tables do not settle its open choices.

    Raises:
        InputError: its reference failed, or choices are not independent.
        InfraError: the machinery failed.
    """
    recording = record(task, item, sandbox)
    row = build_row(task, item, recording)
    for problem in choice_problems(row):
        raise InputError(str(problem))
    if item.tables:
        image = sandbox.prepare(task.image_tag)
        proofs = table_errors(task, item, recording.tables, sandbox, image, every=False)
        if any(proof.error for proof in proofs):  # other options give these tables, too
            return None
    return row
