"""Prove that tasks are sound: golden passes and is deterministic, masked fails, and each variant gets its verdict.

Valid variants pass every case. Plain ones, written without the contract, pass every core case. Careless ones break only
the contract. Wrong ones, which misread the method, fail a core case. Core cases vary with the seed, and no trivial
answer passes one. `plan` reads an instance and finds the problems that need no run, `_jobs` lists the runs, and
`Trial.judge` compares a verdict with the required one.

Each trial runs exactly as a user's prediction does. The demo and the smoke tests of each repository run as well
(`repository.py`); an instance is proved only if they succeed.
"""

import contextlib
import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from typing import NamedTuple

from lmrbench_data.base.errors import InputError
from lmrbench_data.base.jobs import Progress, run_jobs
from lmrbench_data.base.text import plural
from lmrbench_data.dataset.build import build_rows
from lmrbench_data.dataset.rows import DatasetRow
from lmrbench_data.tasks.recordings import read_recording
from lmrbench_data.tasks.task import Instance, Task
from lmrbench_data.tasks.task_folders import read_tasks
from lmrbench_evaluate.sandbox.base import Sandbox
from lmrbench_evaluate.verdict.decode import StreamError
from lmrbench_evaluate.verdict.evaluator import evaluate_prediction
from lmrbench_evaluate.verdict.expected import read_expected
from lmrbench_evaluate.verdict.verdict import Status

from .choices import choice_problems, option_problems
from .proved import proof_of, read_proofs, write_proofs
from .repetitions import repetition_errors
from .repository import repository_errors
from .static import ReferenceLines, static_problems
from .tables import table_errors
from .trials import BEFORE, Finding, Must, Trial, make_trials
from .trivial import note_on_seeds, note_on_trivial_answers


@dataclass
class Plan:
    """The check of one instance."""

    task: Task
    item: Instance
    findings: list[Finding]
    """Findings that need no run, then also those of finished jobs."""
    row: DatasetRow | None = None
    """None if nothing runs."""
    proof: str = ""
    trials: Sequence[Trial] = ()
    result: str = ""
    """The result if nothing runs."""
    open_jobs: int = field(default=0, compare=False)

    @property
    def is_sound(self) -> bool:
        """Whether no error was found so far."""
        return not any(finding.is_error for finding in self.findings)


class Job(NamedTuple):
    """Something to run, and the instances that depend on its result."""

    plans: Sequence[Plan]
    run: Callable[[], list[Finding]]


def check_tasks(
    tasks: Sequence[Task],
    sandbox: Sandbox,
    *,
    workers: int = 2,
    resume: bool = False,
    record: bool = False,
    progress: Progress | None = None,
    finished: Callable[[str, str], None] | None = None,
) -> Iterator[Finding]:
    """Yield the findings of each job as it finishes.

    Args:
        resume: skip instances that are proved and have not changed.
        record: write the proof of each instance without errors to `proved.json` when it is done.
        finished: receives each finished instance and a line on its result.

    Raises:
        InfraError: the machinery failed.
    """
    finished = finished or (lambda instance, line: None)
    folders = {task.folder.parent for task in tasks}
    references = {folder: ReferenceLines.of(read_tasks(folder)[0].values()) for folder in folders}
    proofs = {folder: read_proofs(folder) if resume else {} for folder in folders}
    plans, yielded = [], set()
    for task in tasks:
        for item in task.instances:
            checked = plan(task, item, references[task.folder.parent], proofs[task.folder.parent])
            # Problems of options concern every instance of a paper.
            yield from (finding for finding in checked.findings if finding not in yielded)
            yielded.update(checked.findings)
            plans.append(checked)
            if checked.row is None:
                finished(item.instance_id, checked.result)
    jobs, progress = list(_jobs(plans, sandbox)), progress or Progress()
    progress.start(len(jobs))
    with contextlib.closing(run_jobs(jobs, lambda job: job.run(), workers)) as done:
        for job, future in done:
            findings = future.result()
            progress.step("error" if any(finding.is_error for finding in findings) else "ok")
            yield from findings
            for checked in job.plans:
                checked.findings += findings
                checked.open_jobs -= 1
                if checked.open_jobs == 0:
                    finished(checked.item.instance_id, _finish(checked, record))


def _finish(checked: Plan, record: bool) -> str:
    """Write the proof of an instance without errors, if asked to; return a line on its result."""
    if record and checked.is_sound:
        write_proofs(checked.task.folder.parent, {checked.item.instance_id: checked.proof})
    trials = [finding for finding in checked.findings if finding.is_trial]
    state = "ok" if checked.is_sound else "error"
    good = sum(not finding.is_error for finding in trials)
    return f"{state}, {good} of {plural(len(trials), 'trial')} as expected"


def plan(task: Task, item: Instance, references: ReferenceLines, proofs: Mapping[str, str]) -> Plan:
    """Read an instance and find the problems that need no run; one with a valid proof is skipped."""
    findings = [Finding(**vars(problem)) for problem in static_problems(task, item, references)]
    try:
        [row] = build_rows([dataclasses.replace(task, instances=(item,))])
        notes = [note_on_seeds(row), note_on_trivial_answers(row)]
    except (InputError, StreamError) as error:
        findings.append(Finding.of(item.instance_id, "recording", str(error)))
        return Plan(task, item, findings, result=f"error: {error}")
    if item.configuration.is_altered:
        problems = [*choice_problems(row), *option_problems(task)]
        notes += [Finding(**vars(problem)) for problem in problems]
    checked = Plan(task, item, [*findings, *notes], row, proof_of(task, item, row))
    if checked.is_sound and proofs.get(item.instance_id) == checked.proof:
        before = Finding.of(
            item.instance_id, BEFORE, "", "unchanged since; --again repeats the check"
        )
        return Plan(task, item, [before], result="ok, checked before")
    checked.trials = list(make_trials(task, item))
    return checked


def _jobs(plans: Iterable[Plan], sandbox: Sandbox) -> Iterator[Job]:
    """Yield what has to run, one instance after the other, so that an interrupted check has finished some."""
    plans = [checked for checked in plans if checked.row]
    images = {tag: sandbox.prepare(tag) for tag in {checked.task.image_tag for checked in plans}}
    for _, group in groupby(plans, key=lambda checked: checked.task.folder):
        own = list(group)
        task, image = own[0].task, images[own[0].task.image_tag]
        jobs: list[Job] = []
        # An altered paper has the repository of its method, whose check runs the demo and the smoke tests.
        if not all(checked.item.configuration.is_altered for checked in own):
            jobs.append(Job(own, partial(_check_repository, task, sandbox, image)))
        for checked in own:
            jobs += [
                Job([checked], partial(_run_trial, checked, trial, sandbox, image))
                for trial in checked.trials
            ]
            jobs.append(Job([checked], partial(_repeat, checked, sandbox, image)))
            if checked.item.tables:
                jobs.append(
                    Job([checked], partial(_check_tables, task, checked.item, sandbox, image))
                )
        for job in jobs:
            for checked in job.plans:
                checked.open_jobs += 1
        yield from jobs


def _check_repository(task: Task, sandbox: Sandbox, image: str) -> list[Finding]:
    errors = repository_errors(task, sandbox, image)
    return [Finding.of(f"{task.name}/repo", name, error) for name, error in errors.items()]


def _check_tables(task: Task, item: Instance, sandbox: Sandbox, image: str) -> list[Finding]:
    results = table_errors(task, item, read_recording(task, item).tables, sandbox, image)
    return [Finding.of(item.instance_id, name, error, note) for name, error, note in results]


def _repeat(checked: Plan, sandbox: Sandbox, image: str) -> list[Finding]:
    assert checked.row
    errors = repetition_errors(checked.row, checked.task.golden_repo(checked.item), sandbox, image)
    return [
        Finding.of(checked.item.instance_id, f"golden, {name}", error)
        for name, error in errors.items()
    ]


def _run_trial(checked: Plan, trial: Trial, sandbox: Sandbox, image: str) -> list[Finding]:
    assert checked.row
    row, seeds = checked.row, checked.row["tests"]["seeds"]
    if trial.must is Must.FAIL_CORE:
        # One seed is enough to show that an answer is wrong, unless it raises: then another case may have to notice it.
        first = [frame for frame in read_expected(row) if frame.seed == seeds[0]]
        verdict = evaluate_prediction(row, trial.prediction, sandbox, image, expected=first)
        has_raised = any(case.status is Status.ERROR for case in verdict.cases)
        if trial.must.holds(verdict) and not has_raised:
            return [trial.judge(verdict)]
    return [trial.judge(evaluate_prediction(row, trial.prediction, sandbox, image))]
