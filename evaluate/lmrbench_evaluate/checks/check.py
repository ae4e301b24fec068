"""Prove that tasks are sound: golden passes and is deterministic, masked fails, and each variant gets its verdict.

Valid variants pass every case. Plain ones, written without the contract, pass every core case. Careless ones break only
the contract. Wrong ones, which misread the method, fail a core case. `static.py` finds the problems that need no run.

Golden and masked run exactly as a user's prediction does. Variants share sandboxes, which saves most of the time; a
variant with an unexpected verdict runs again alone, and that verdict counts. The demo and the smoke tests of each
repository run as well (`repository.py`); an instance counts as checked only if they succeed.
"""

import concurrent.futures
import dataclasses
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from lmrbench_data.base.errors import InfraError, InputError
from lmrbench_data.base.progress import Progress
from lmrbench_data.base.text import counted
from lmrbench_data.dataset.build import build_rows
from lmrbench_data.dataset.check_records import record_checked, was_checked
from lmrbench_data.dataset.rows import DatasetRow
from lmrbench_data.loader import File
from lmrbench_data.tasks.recordings import read_recording
from lmrbench_data.tasks.task import Altered, Task, Underspecified

from ..sandbox.base import Sandbox
from ..verdict.batch import in_batches
from ..verdict.decode import StreamError
from ..verdict.evaluator import evaluate_batch, evaluate_prediction
from ..verdict.verdict import Status, Verdict
from .choices import choice_problems, option_problems
from .notes import note_on_seeds, note_on_trivial_answers
from .proved import proof_of
from .repository import repository_errors
from .stability import MANY_RUNS, stability
from .static import ReferenceLines, static_problems
from .tables import TABLE_PROOFS, table_errors
from .trials import (
    BEFORE,
    Finding,
    Must,
    Trial,
    first_of_each_kind,
    make_trials,
    mutant_trials,
    unknown_equivalents,
)

#: Exceptions that mean broken code rather than a misread method.
_BROKEN = ("NameError", "ImportError", "ModuleNotFoundError", "UnboundLocalError")


def check_tasks(
    tasks: Sequence[Task],
    sandbox: Sandbox,
    *,
    workers: int = 2,
    mutants: bool = False,
    quick: bool = False,
    resume: bool = False,
    progress: Progress | None = None,
    finished: Callable[[str, str], None] | None = None,
) -> Iterator[Finding]:
    """Yield a finding for each trial as it finishes; record each instance without errors as checked when it is done.

    Args:
        mutants: also try every mutant of the reference (`mutants.py`); the cases must notice those that the task does
            not list as equivalent, and only those.
        quick: run golden, masked and the first variant of each kind, and prove nothing. A note on each instance lists
            the skipped parts: repetitions of the reference, demo and smoke tests.
        resume: skip instances that were checked before in this sandbox and have not changed.
        finished: receives each finished instance and a line on its result.

    Raises:
        InfraError: the machinery failed.
    """
    rows: dict[str, DatasetRow] = {}
    golden: dict[str, Mapping[str, File]] = {}
    trials: list[Trial] = []
    bad: set[str] = set()
    pairs = [(task, item) for task in tasks for item in task.instances]
    proofs: dict[str, str] = {}
    options: dict[Path, list[Finding]] = {}
    tell = finished or (lambda instance, line: None)
    references = {folder: ReferenceLines.of(folder) for folder in {task.folder.parent for task in tasks}}
    for task, implementation in pairs:
        instance = implementation.instance_id
        for problem in static_problems(task, implementation, references[task.folder.parent]):
            bad.add(instance)
            yield Finding(**vars(problem))
        try:
            [row] = build_rows([dataclasses.replace(task, instances=(implementation,))])
            notes = [note_on_seeds(row), note_on_trivial_answers(row)]
        except (InputError, StreamError) as error:
            bad.add(instance)
            tell(instance, f"error: {error}")
            yield Finding(instance, "recording", str(error))
            continue
        if isinstance(implementation, Altered):
            notes += [Finding(**vars(problem)) for problem in choice_problems(row)]
            if task.folder not in options:  # reported once, however many instances the paper has
                options[task.folder] = [Finding(**vars(problem)) for problem in option_problems(task)]
                yield from options[task.folder]
            bad |= {instance} if any(finding.is_error for finding in options[task.folder]) else set()
        proofs[instance] = proof_of(task, implementation, row)
        bad |= {instance} if any(note.is_error for note in notes) else set()
        if resume and instance not in bad and was_checked(row, sandbox.name, proof=proofs[instance], mutants=mutants):
            tell(instance, "ok, checked before")
            yield Finding.of(instance, BEFORE, "", "unchanged since; --again repeats the check")
            continue
        yield from notes
        rows[instance], golden[instance] = row, task.golden_repo(implementation)
        own_trials = list(make_trials(task, implementation))
        if quick:
            own_trials, untried = first_of_each_kind(own_trials)
            yield untried
        trials += own_trials
        if mutants:
            of_mutants = list(mutant_trials(task, implementation))
            trials += of_mutants
            for finding in unknown_equivalents(implementation, of_mutants):
                bad.add(instance)
                yield finding
    repeated = [] if quick else list(rows)
    own = {task.name: [item.instance_id for item in task.instances if item.instance_id in rows] for task in tasks}
    # An altered paper has the repository of its method, whose check runs the demo and the smoke tests.
    altered = {task.name for task in tasks if all(isinstance(item, Altered) for item in task.instances)}
    repositories = [] if quick else [task.name for task in tasks if own[task.name] and task.name not in altered]
    progress = progress or Progress()
    every = (item for _, item in pairs if item.instance_id in repeated)
    tabled = {item.instance_id: item for item in every if isinstance(item, Underspecified)}
    progress.start(len(trials) + 2 * len(repeated) + 2 * len(repositories) + TABLE_PROOFS * len(tabled))
    images = {tag: sandbox.prepare(tag) for tag in {row["docker_image"] for row in rows.values()}}

    def image_of(instance: str) -> str:
        return images[rows[instance]["docker_image"]]

    def run(batch: Sequence[Trial]) -> list[Finding]:
        instance = batch[0].instance_id
        return _run_batch(batch, rows[instance], sandbox, image_of(instance))

    def repeat(instance: str) -> list[Finding]:
        times = MANY_RUNS if mutants else 2
        errors = stability(rows[instance], golden[instance], sandbox, image_of(instance), times)
        return [Finding.of(instance, f"golden, {name}", error) for name, error in errors.items()]

    def identify(task: Task, item: Underspecified) -> list[Finding]:
        tables, image = read_recording(task, item).tables, image_of(item.instance_id)
        found = table_errors(task, item, tables, sandbox, image)
        return [Finding.of(item.instance_id, name, error, note) for name, error, note in found]

    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        #: Running jobs → the instances that they test.
        jobs: dict[concurrent.futures.Future[list[Finding]], list[str]] = {}
        # One instance after the other, so that an interrupted check has finished some.
        for task in tasks:
            if task.name in repositories:
                jobs[pool.submit(_on_repository, task, sandbox, images[task.image_tag])] = own[task.name]
            for instance in own[task.name]:
                of_instance = [trial for trial in trials if trial.instance_id == instance]
                jobs |= {pool.submit(run, batch): [instance] for batch in _batches(of_instance)}
                jobs |= {pool.submit(repeat, instance): [instance]} if instance in repeated else {}
                jobs |= {pool.submit(identify, task, tabled[instance]): [instance]} if instance in tabled else {}
        left = Counter(instance for instances in jobs.values() for instance in instances)
        counts = Counter[tuple[str, bool]]()
        try:
            for job in concurrent.futures.as_completed(jobs):
                for finding in job.result():
                    progress.step("error" if finding.is_error else "ok")
                    counts.update((instance, finding.is_error) for instance in jobs[job])
                    bad |= set(jobs[job]) if finding.is_error else set()
                    yield finding
                for instance in jobs[job]:
                    left[instance] -= 1
                    if left[instance]:
                        continue
                    if instance not in bad and not quick:
                        record_checked(rows[instance], sandbox.name, proof=proofs[instance], mutants=mutants)
                    errors, good = counts[instance, True], counts[instance, False]
                    state = "error" if instance in bad else "no error found, nothing proved" if quick else "ok"
                    tell(instance, f"{state}, {good} of {counted(good + errors, 'trial')} as expected")
        finally:
            for job in jobs:
                job.cancel()


def check_repositories(
    tasks: Sequence[Task], sandbox: Sandbox, *, workers: int = 2, progress: Progress | None = None
) -> Iterator[Finding]:
    """Yield the findings on the demo and the smoke tests of each task's repository.

    Raises:
        InfraError: the machinery failed.
    """
    progress = progress or Progress()
    progress.start(2 * len(tasks))
    images = {tag: sandbox.prepare(tag) for tag in {task.image_tag for task in tasks}}
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        jobs = [pool.submit(_on_repository, task, sandbox, images[task.image_tag]) for task in tasks]
        try:
            for job in concurrent.futures.as_completed(jobs):
                for finding in job.result():
                    progress.step("error" if finding.is_error else "ok")
                    yield finding
        finally:
            for job in jobs:
                job.cancel()


def _on_repository(task: Task, sandbox: Sandbox, image: str) -> list[Finding]:
    errors = repository_errors(task, sandbox, image)
    return [Finding.of(f"{task.name}/repo", name, error) for name, error in errors.items()]


def _batches(trials: Sequence[Trial]) -> Iterator[list[Trial]]:
    """Split trials: golden and masked run alone, as a user's predictions do; variants of one kind share sandboxes."""
    groups: dict[tuple[str, str], list[Trial]] = {}
    for trial in trials:
        kind, slash, _ = trial.name.partition("/")
        if not slash:
            yield [trial]
        else:
            groups.setdefault((trial.instance_id, kind), []).append(trial)
    for group in groups.values():
        yield from map(list, in_batches(group))


def _run_batch(batch: Sequence[Trial], row: DatasetRow, sandbox: Sandbox, image: str) -> list[Finding]:
    def alone(trial: Trial) -> Verdict:
        return evaluate_prediction(row, trial.prediction, sandbox, image)

    if len(batch) == 1:
        return [_judge(batch[0], alone(batch[0]))]
    seeds = row["tests"]["seeds"]
    # One seed is enough to show that an answer is wrong; the others run alone on all seeds.
    chosen = seeds[:1] if batch[0].must in (Must.MISREAD, Must.BE_NOTICED) else seeds
    verdicts = evaluate_batch(row, [trial.prediction for trial in batch], sandbox, image, seeds=chosen)
    findings = []
    for trial, verdict in zip(batch, verdicts, strict=True):
        # In a batch an answer stops at its first error; only a run alone shows whether it is broken in every case.
        broken = not trial.is_mutant and any(case.detail.startswith(_BROKEN) for case in verdict.cases)
        unexpected = broken or not trial.must.holds(verdict)
        findings.append(_judge(trial, alone(trial) if unexpected else verdict))
    return findings


def _judge(trial: Trial, verdict: Verdict) -> Finding:
    """Compare a verdict with the required outcome."""
    if verdict.status is Status.INFRA_ERROR:
        raise InfraError(f"{trial.instance_id} {trial.name}: {verdict.detail}")
    # The reason is the core case that a wrong answer fails; breaking the contract as well proves nothing.
    misread = trial.must is Must.MISREAD and verdict.core_status is not Status.PASSED
    reason = verdict.reason(core=misread)
    error = ""
    if verdict.status is Status.MALFORMED and trial.must in (Must.MISREAD, Must.BE_NOTICED):
        error = f"cannot be applied, so it proves nothing: {reason}"
    elif not trial.must.holds(verdict):
        error = _error(trial, verdict)
    elif trial.must is Must.MISREAD and verdict.cases and _is_broken(verdict):
        error = f"is broken code, not a misread method: {reason}"
    level = "core" if verdict.core_status is not Status.PASSED else "contract" if verdict.cases else ""
    facts = {"core_status": str(verdict.core_status)} | ({"noticed_by": level} if trial.is_mutant and level else {})
    return Finding.of(trial.instance_id, trial.name, error, reason, status=str(verdict.status), facts=facts)


def _error(trial: Trial, verdict: Verdict) -> str:
    """Describe an unexpected verdict in one line."""
    if trial.name.startswith("equivalent/"):
        return f"is not equivalent; the cases notice it: {verdict.reason()}"
    if verdict.status is Status.PASSED:
        return f"{trial.must.value}, but passes; the cases do not notice it"
    if verdict.core_status is Status.PASSED:
        return f"{trial.must.value}, but only other cases notice it: {verdict.reason()}"
    return f"{trial.must.value}: {verdict.reason(core=True)}"


def _is_broken(verdict: Verdict) -> bool:
    return all(case.detail.startswith(_BROKEN) for case in verdict.cases)
