"""Make a private set: altered papers that were never published, drawn by a seed and recorded now."""

import contextlib
import dataclasses
import random
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
from .tables import count_runs, table_errors


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
    """Draw combinations of options that are not in the benchmark, record them, and write each row when it is proved.

    Nothing is written beside the tasks. Rows of an earlier call that was stopped are kept if the present tasks still
    give them. An underspecified paper leaves the same choices open as the published one of
    its task; a combination that its tables do not single out is skipped.

    Args:
        tasks: those without instances of the configuration are left out.
        seed: seed of the draws; each paper has a draw of its own, which stays the same when other papers change.
        per_paper: number of rows of each paper; fewer if the combinations run out.
        progress: receives a step for each row, and for each run of a paper's experiments.

    Raises:
        InputError: the folder holds something else, no task has such instances, no combination gives a row, a
            reference failed, or a recording of an option is out of date.
        InfraError: the machinery failed.
    """
    refuse_foreign(out)
    chosen = [task for task in tasks if task.instances_of(config)]
    if not chosen:
        raise InputError(
            f"no task has such rows of {config}, so there is nothing to draw; see CONTRIBUTING.md"
        )
    earlier: dict[str, Any] = {}
    if out.is_dir():
        with contextlib.suppress(LoadError):  # of another configuration
            earlier = {
                row["instance_id"]: row
                for row in load_rows(out, config)
                if f"-s{seed}-" in row["instance_id"]
            }
    made: dict[str, DatasetRow] = {}

    def save(rows: Mapping[str, DatasetRow]) -> None:
        benchmark = load_benchmark(chosen[0].folder.parent)
        write_dataset([rows[name] for name in sorted(rows)], out, benchmark)

    steps = _Steps(
        progress or Progress(), per_paper * (len(chosen) + experiment_runs(chosen, config))
    )
    papers = [_rows(task, config, seed, per_paper, sandbox, earlier, steps) for task in chosen]
    for _ in range(per_paper):
        with contextlib.closing(run_jobs(papers, lambda rows: next(rows, None), workers)) as done:
            for _, future in done:
                if row := future.result():
                    made[row["instance_id"]] = row
                    if row is not earlier.get(row["instance_id"]):
                        save({**earlier, **made})
    if not made:
        reason = (
            "the combinations that are left are published, or their tables do not single them out"
        )
        raise InputError(
            f"no row can be drawn: {reason}; draw for other papers or another difficulty"
        )
    save(made)
    return list(made.values())


def of_difficulty(task: Task, difficulty: str) -> Task:
    """Return a task whose underspecified papers have a difficulty."""
    chosen = tuple(item for item in task.underspecified if item.difficulty == difficulty)
    return dataclasses.replace(task, underspecified=chosen)


def experiment_runs(tasks: Sequence[Task], config: str) -> int:
    """Return how often the papers' experiments run at most for one private row of each task, if none is skipped."""
    counts = [
        [count_runs(task, item) for item in task.instances_of(config) if item.tables]
        for task in tasks
    ]
    return sum(max(runs, default=0) for runs in counts)


class _Steps:
    """Counts rows and runs; the runs of a combination that is skipped make the work longer."""

    def __init__(self, progress: Progress, total: int) -> None:
        self._progress, self._total = progress, total
        progress.start(total)

    def step(self, label: str) -> None:
        """Count a row or a run."""
        self._progress.step(label)

    def extend(self, runs: int) -> None:
        """Add the runs that were made in vain."""
        self._total += runs
        self._progress.start(self._total)


def _rows(
    task: Task,
    config: str,
    seed: int,
    per_paper: int,
    sandbox: Sandbox,
    earlier: Mapping[str, DatasetRow],
    steps: _Steps,
) -> Iterator[DatasetRow]:
    """Yield the rows of one paper."""
    drawn = _counterfactuals if config == COUNTERFACTUAL else _underspecified
    combinations = list(drawn(task, random.Random(f"{task.name} {seed}")))
    for number in range(1, per_paper + 1):
        name = f"{task.name.partition('-')[2]}-{config}-s{seed}-{number}"
        items = [dataclasses.replace(combination, instance_id=name) for combination in combinations]
        row = earlier.get(name)
        if row and (
            places := [place for place, item in enumerate(items) if _is_current(task, item, row)]
        ):
            place = places[0]
        else:
            tried = ((place, _row(task, item, sandbox, steps)) for place, item in enumerate(items))
            place, row = next(((place, row) for place, row in tried if row), (0, None))
        if not row:
            return
        combinations = combinations[place + 1 :]  # those before it were skipped
        steps.step("rows")
        yield row


def _counterfactuals(task: Task, numbers: random.Random) -> Iterator[Altered]:
    known = [item.chosen for item in task.counterfactuals]
    for chosen in draw(task.choices, numbers, known, at_least=MIN_ALTERED):
        yield dataclasses.replace(task.counterfactuals[0], chosen=chosen)


def _underspecified(task: Task, numbers: random.Random) -> Iterator[Altered]:
    template = numbers.choice(task.underspecified)
    known: list[Mapping[str, str]] = [
        item.chosen for item in task.underspecified if item.open == template.open
    ]
    opened = [choice for choice in task.choices if choice.name in template.open]
    for chosen in draw(
        opened, numbers, known, at_least=MIN_DEPARTURES if template.difficulty == SILENT else 1
    ):
        yield dataclasses.replace(template, chosen=chosen)


def _is_current(task: Task, item: Altered, row: DatasetRow) -> bool:
    """Return whether the present task gives this row with its recorded outputs and tables."""
    stated = {choice["name"]: choice["stated"] for choice in row["choices"]}
    if any(stated.get(choice.name) != item.option_of(choice) for choice in task.choices):
        return False
    facts = row["recording"]
    recording = Recording(
        row["tests"]["cases"], row["expected"], facts["image"], facts["sandbox"], facts["cpu"]
    )
    new = build_row(task, item, recording)
    same = row_sha256({**new, "paper_text": row["paper_text"]}) == row["row_sha256"]
    return same and row["paper_text"].startswith(new["paper_text"])


def _row(task: Task, item: Altered, sandbox: Sandbox, steps: _Steps) -> DatasetRow | None:
    """Record an instance and return its row; None if its tables do not settle its open choices.

    Raises:
        InputError: its reference failed, or choices are not independent.
        InfraError: the machinery failed.
    """
    recording = record(task, item, sandbox)
    row = build_row(task, item, recording)
    if problem := next(choice_problems(row), None):
        raise InputError(str(problem))
    if item.tables:
        runs: list[str] = []

        def finished() -> None:
            runs.append("runs")
            steps.step("runs")

        image = sandbox.prepare(task.image_tag)
        checks = table_errors(
            task, item, recording.tables, sandbox, image, finished=finished, every=False
        )
        if any(error for _, error, _ in checks):
            steps.extend(len(runs))
            return None
    return row
