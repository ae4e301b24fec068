"""Prove that tasks are sound: golden passes, masked fails, and each variant gets its verdict.

Valid variants pass every case. Plain ones, written without the contract, pass every core case.
Careless ones break only the contract. Wrong ones, which misread the method, fail a core case. Core
cases vary with the seed, and no trivial answer passes one. `plan` reads an instance and finds the
problems that need no run, `_jobs` lists the runs, and `Trial.judge` compares a verdict with the
required one.

Each trial runs exactly as a user's prediction does. The demo and the smoke tests of each repository
run as well (`repository.py`); an instance is proved only if they succeed.
"""

import contextlib
import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from lmrbench_data.base.errors import InputError
from lmrbench_data.base.jobs import Progress, run_jobs
from lmrbench_data.base.text import plural
from lmrbench_data.dataset.build import build_rows
from lmrbench_data.dataset.rows import DatasetRow
from lmrbench_data.tasks.problems import Problem
from lmrbench_data.tasks.recordings import read_recording
from lmrbench_data.tasks.task import Instance, Task
from lmrbench_data.tasks.task_folders import read_tasks
from lmrbench_evaluate.sandbox.base import Sandbox
from lmrbench_evaluate.verdict.decode import Frame, StreamError
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

    def plan_trials(self, row: DatasetRow, proofs: Mapping[str, str]) -> None:
        """Plan what proves an instance, unless it is proved."""
        self.proof = proof_of(self.task, self.item, row)
        if self.is_sound and proofs.get(self.item.instance_id) == self.proof:
            self.skip()
        else:
            self.row = row
            self.trials = list(make_trials(self.task, self.item))

    def skip(self) -> None:
        """Leave out an instance that is proved."""
        note = "unchanged since; --again repeats the check"
        self.findings = [Finding.of(self.item.instance_id, BEFORE, "", note)]
        self.result = "ok, checked before"

    def finish(self, record: bool) -> str:
        """Write the proof of a sound instance, if asked to; return a line on its result."""
        if record and self.is_sound:
            write_proofs(self.task.folder.parent, {self.item.instance_id: self.proof})
        trials = [finding for finding in self.findings if finding.is_trial]
        good = sum(not finding.is_error for finding in trials)
        state = "ok" if self.is_sound else "error"
        return f"{state}, {good} of {plural(len(trials), 'trial')} as expected"


class Job(NamedTuple):
    """Something to run, and the instances that depend on its result."""

    plans: Sequence[Plan]
    run: Callable[[], list[Finding]]

    def settle(self, findings: list[Finding]) -> list[Plan]:
        """Add the findings to the instances; return those that are finished."""
        for checked in self.plans:
            checked.findings += findings
            checked.open_jobs -= 1
        return [checked for checked in self.plans if not checked.open_jobs]


def check_tasks(
    tasks: Sequence[Task],
    sandbox: Sandbox,
    *,
    workers: int = 2,
    resume: bool = False,
    record: bool = False,
    progress: Progress | None = None,
    finished: Callable[[str, str], None] = lambda instance, line: None,
) -> Iterator[Finding]:
    """Yield the findings of each job as it finishes.

    Args:
        tasks: all of one benchmark.
        resume: skip instances that are proved and have not changed.
        record: write the proof of each instance without errors to `proved.json` when it is done.
        finished: receives each finished instance and a line on its result.

    Raises:
        InfraError: the machinery failed.
    """
    plans = _plans(tasks, resume)
    yield from _first_findings(plans)
    for checked in plans:
        if checked.row is None:
            finished(checked.item.instance_id, checked.result)
    for job, findings in _run_jobs(_jobs(plans, sandbox), workers, progress or Progress()):
        yield from findings
        for checked in job.settle(findings):
            finished(checked.item.instance_id, checked.finish(record))


def _first_findings(plans: Sequence[Plan]) -> Iterable[Finding]:
    """Return the findings that need no run; those on options concern every instance of a paper."""
    return dict.fromkeys(chain.from_iterable(checked.findings for checked in plans))


def _run_jobs(
    planned: Iterable[Job], workers: int, progress: Progress
) -> Iterator[tuple[Job, list[Finding]]]:
    jobs = list(planned)
    progress.start(len(jobs))
    with contextlib.closing(run_jobs(jobs, lambda job: job.run(), workers)) as done:
        for job, future in done:
            findings = future.result()
            progress.step("error" if any(finding.is_error for finding in findings) else "ok")
            yield job, findings


def _plans(tasks: Sequence[Task], resume: bool) -> list[Plan]:
    plans: list[Plan] = []
    if tasks:
        benchmark = tasks[0].folder.parent
        references = ReferenceLines.of(read_tasks(benchmark)[0].values())
        proofs = read_proofs(benchmark) if resume else {}
        for task in tasks:
            plans += [plan(task, item, references, proofs) for item in task.instances]
    return plans


def plan(task: Task, item: Instance, references: ReferenceLines, proofs: Mapping[str, str]) -> Plan:
    """Read an instance and find the problems that need no run; skip one with a valid proof."""
    checked = Plan(task, item, _findings(static_problems(task, item, references)))
    try:
        [row] = build_rows([dataclasses.replace(task, instances=(item,))])
        checked.findings += _row_findings(task, row, item.configuration.is_altered)
    except (InputError, StreamError) as error:
        checked.findings.append(Finding.of(item.instance_id, "recording", str(error)))
        checked.result = f"error: {error}"
    else:
        checked.plan_trials(row, proofs)
    return checked


def _row_findings(task: Task, row: DatasetRow, is_altered: bool) -> list[Finding]:
    findings = [note_on_seeds(row), note_on_trivial_answers(row)]
    if is_altered:
        findings += _findings(choice_problems(row)) + _findings(option_problems(task))
    return findings


def _findings(problems: Iterable[Problem]) -> list[Finding]:
    return [Finding(**vars(problem)) for problem in problems]


def _jobs(plans: Sequence[Plan], sandbox: Sandbox) -> Iterator[Job]:
    """Yield what has to run, instance by instance: an interrupted check has finished some."""
    by_task: dict[Path, list[Plan]] = {}
    for checked in plans:
        if checked.row:
            by_task.setdefault(checked.task.folder, []).append(checked)
    for plans_of_task in by_task.values():
        for job in _jobs_of_task(plans_of_task, sandbox):
            for checked in job.plans:
                checked.open_jobs += 1
            yield job


def _jobs_of_task(plans: Sequence[Plan], sandbox: Sandbox) -> Iterator[Job]:
    image = sandbox.prepare(plans[0].task.image_tag)
    # An altered paper has the repository of its method, whose check runs demo and smoke tests.
    if not all(checked.item.configuration.is_altered for checked in plans):
        yield Job(plans, partial(_check_repository, plans[0].task, sandbox, image))
    for checked in plans:
        for trial in checked.trials:
            yield Job([checked], partial(_run_trial, checked, trial, sandbox, image))
        yield Job([checked], partial(_repeat, checked, sandbox, image))
        if checked.item.tables:
            yield Job([checked], partial(_check_tables, checked, sandbox, image))


def _check_repository(task: Task, sandbox: Sandbox, image: str) -> list[Finding]:
    errors = repository_errors(task, sandbox, image)
    return [Finding.of(f"{task.name}/repo", name, error) for name, error in errors.items()]


def _check_tables(checked: Plan, sandbox: Sandbox, image: str) -> list[Finding]:
    task = checked.task
    item = checked.item
    proofs = table_errors(task, item, read_recording(task, item).tables, sandbox, image)
    return [Finding.of(item.instance_id, *proof) for proof in proofs]


def _repeat(checked: Plan, sandbox: Sandbox, image: str) -> list[Finding]:
    assert checked.row
    instance = checked.item.instance_id
    errors = repetition_errors(checked.row, checked.task.golden_repo(checked.item), sandbox, image)
    return [Finding.of(instance, f"golden, {name}", error) for name, error in errors.items()]


def _run_trial(checked: Plan, trial: Trial, sandbox: Sandbox, image: str) -> list[Finding]:
    assert checked.row
    evaluate = partial(evaluate_prediction, checked.row, trial.prediction, sandbox, image)
    if trial.must is Must.FAIL_CORE:
        # One seed shows that an answer is wrong, unless it raises: then another case may have to
        # notice it.
        verdict = evaluate(expected=_on_first_seed(checked.row))
        has_raised = any(case.status is Status.ERROR for case in verdict.cases)
        if trial.must.holds(verdict) and not has_raised:
            return [trial.judge(verdict)]
    return [trial.judge(evaluate())]


def _on_first_seed(row: DatasetRow) -> list[Frame]:
    seed = row["tests"]["seeds"][0]
    return [frame for frame in read_expected(row) if frame.seed == seed]
