"""Prove that tasks are sound: golden passes and repeats itself, masked does not, and variants come out as they should.

Valid variants pass every case. Plain ones, written without the contract, pass every core case. Careless ones break the
contract only. Wrong ones, which misread the method, fail a core case. What no run can show is read in `faults.py`.

Golden and masked run exactly as a user's prediction does. Variants share sandboxes, which saves most of the time; one
that comes out otherwise than it should is run again alone, and that verdict counts. Of each repository the demo and the
smoke tests run as well (`repository.py`); an instance counts as checked only if those of its repository came out.
"""

import concurrent.futures
import dataclasses
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from lmrbench_data.base.errors import InfraError, InputError
from lmrbench_data.base.progress import Progress
from lmrbench_data.dataset.build import build_rows
from lmrbench_data.dataset.proofs import record_checked, was_checked
from lmrbench_data.dataset.rows import DatasetRow
from lmrbench_data.loader import File
from lmrbench_data.tasks.task import Task

from ..sandbox.base import Sandbox
from ..verdict.decode import StreamError
from ..verdict.evaluator import evaluate_batch, evaluate_prediction
from ..verdict.verdict import Status, Verdict
from .faults import Secrets, read_faults
from .notes import note_on_seeds, note_on_trivial_answers
from .proved import proof_of
from .repository import repository_faults
from .stability import MANY_RUNS, stability
from .trials import (
    BEFORE,
    Finding,
    Must,
    Probe,
    first_of_each_kind,
    make_probes,
    mutant_probes,
    unknown_equivalents,
)

#: Variants that share a sandbox.
BATCH = 16
#: Exceptions of files that were not written with care.
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
    """Yield a finding for each probe, as they come; an instance without fault counts as checked as soon as it is done.

    Args:
        mutants: also try every mutant of the reference (`mutants.py`): the cases have to notice it, or it is listed in
            the task as equivalent and they do not.
        quick: a look that proves nothing: golden, masked and the first variant of each kind; no repetitions of the
            reference, no demo, no smoke tests. A finding of each instance says what was not tried.
        resume: leave out what was checked before exactly as it is now, in this sandbox.
        finished: told of each instance that is done, with one line on what it came to.

    Raises:
        InfraError: the machinery failed, so that nothing can be said.
    """
    rows: dict[str, DatasetRow] = {}
    references: dict[str, Mapping[str, File]] = {}
    probes: list[Probe] = []
    bad: set[str] = set()
    pairs = [(task, item) for task in tasks for item in task.implementations]
    proofs: dict[str, str] = {}
    tell = finished or (lambda instance, line: None)
    secrets = {folder: Secrets.of(folder) for folder in {task.folder.parent for task in tasks}}
    for task, implementation in pairs:
        instance = implementation.instance_id
        read = read_faults(task, implementation, secrets[task.folder.parent])
        faults = [Finding(instance, place, False, text) for place, text in read]
        bad |= {instance} if faults else set()
        yield from faults
        try:
            [row] = build_rows([dataclasses.replace(task, implementations=(implementation,))])
            notes = [note_on_seeds(row), note_on_trivial_answers(row)]
        except (InputError, StreamError) as error:
            bad.add(instance)
            tell(instance, f"bad: {error}")
            yield Finding(instance, "recording", False, str(error))
            continue
        proofs[instance] = proof_of(task, implementation, row)
        bad |= set() if all(note.ok for note in notes) else {instance}
        if resume and instance not in bad and was_checked(row, sandbox.name, proof=proofs[instance], mutants=mutants):
            tell(instance, "ok, checked before")
            yield Finding(instance, BEFORE, True, "nothing has changed since; --again repeats it")
            continue
        yield from notes
        rows[instance], references[instance] = row, task.golden_repo(implementation)
        own_probes = list(make_probes(task, implementation))
        if quick:
            own_probes, untried = first_of_each_kind(own_probes)
            yield untried
        probes += own_probes
        if mutants:
            tried = list(mutant_probes(task, implementation))
            probes += tried
            gone = list(unknown_equivalents(implementation, tried))
            bad |= {instance} if gone else set()
            yield from gone
    repeated = [] if quick else list(rows)
    own = {task.name: [item.instance_id for item in task.implementations if item.instance_id in rows] for task in tasks}
    repositories = [] if quick else [task.name for task in tasks if own[task.name]]
    progress = progress or Progress()
    progress.start(len(probes) + 2 * len(repeated) + 2 * len(repositories))
    images = {tag: sandbox.prepare(tag) for tag in {row["docker_image"] for row in rows.values()}}

    def image_of(instance: str) -> str:
        return images[rows[instance]["docker_image"]]

    def run(batch: Sequence[Probe]) -> list[Finding]:
        instance = batch[0].instance_id
        return _run_batch(batch, rows[instance], sandbox, image_of(instance))

    def repeat(instance: str) -> list[Finding]:
        times = MANY_RUNS if mutants else 2
        faults = stability(rows[instance], references[instance], sandbox, image_of(instance), times)
        return [Finding(instance, f"golden, {name}", not fault, fault) for name, fault in faults.items()]

    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        #: What runs, with the instances that it says something about.
        jobs: dict[concurrent.futures.Future[list[Finding]], list[str]] = {}
        # One task and one instance after the other, so that a check that is stopped has finished some.
        for task in tasks:
            if task.name in repositories:
                jobs[pool.submit(_on_repository, task, sandbox, images[task.image_tag])] = own[task.name]
            for instance in own[task.name]:
                tried_on = [probe for probe in probes if probe.instance_id == instance]
                jobs |= {pool.submit(run, batch): [instance] for batch in _batches(tried_on)}
                jobs |= {pool.submit(repeat, instance): [instance]} if instance in repeated else {}
        left = Counter(instance for instances in jobs.values() for instance in instances)
        counts = Counter[tuple[str, bool]]()
        try:
            for job in concurrent.futures.as_completed(jobs):
                for finding in job.result():
                    progress.step("ok" if finding.ok else "bad")
                    counts.update((instance, finding.ok) for instance in jobs[job])
                    bad |= set() if finding.ok else set(jobs[job])
                    yield finding
                for instance in jobs[job]:
                    left[instance] -= 1
                    if left[instance]:
                        continue
                    if instance not in bad and not quick:
                        record_checked(rows[instance], sandbox.name, proof=proofs[instance], mutants=mutants)
                    good, wrong = counts[instance, True], counts[instance, False]
                    state = "bad" if instance in bad else "nothing bad seen, nothing proved" if quick else "ok"
                    tell(instance, f"{state}, {good} of {good + wrong} as they should be")
        finally:
            for job in jobs:
                job.cancel()


def check_repositories(
    tasks: Sequence[Task], sandbox: Sandbox, *, workers: int = 2, progress: Progress | None = None
) -> Iterator[Finding]:
    """Yield the findings on the demo and the smoke tests of each task's repository, and nothing else.

    Raises:
        InfraError: the machinery failed, so that nothing can be said.
    """
    progress = progress or Progress()
    progress.start(2 * len(tasks))
    images = {tag: sandbox.prepare(tag) for tag in {task.image_tag for task in tasks}}
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        jobs = [pool.submit(_on_repository, task, sandbox, images[task.image_tag]) for task in tasks]
        try:
            for job in concurrent.futures.as_completed(jobs):
                for finding in job.result():
                    progress.step("ok" if finding.ok else "bad")
                    yield finding
        finally:
            for job in jobs:
                job.cancel()


def _on_repository(task: Task, sandbox: Sandbox, image: str) -> list[Finding]:
    faults = repository_faults(task, sandbox, image)
    return [Finding(f"{task.name}/repo", name, not fault, fault) for name, fault in faults.items()]


def _batches(probes: Sequence[Probe]) -> Iterator[list[Probe]]:
    """Golden and masked run alone, as a user's predictions do; variants of one kind share sandboxes."""
    groups: dict[tuple[str, str], list[Probe]] = {}
    for probe in probes:
        kind, slash, _ = probe.name.partition("/")
        if not slash:
            yield [probe]
        else:
            groups.setdefault((probe.instance_id, kind), []).append(probe)
    for group in groups.values():
        for start in range(0, len(group), BATCH):
            yield group[start : start + BATCH]


def _run_batch(batch: Sequence[Probe], row: DatasetRow, sandbox: Sandbox, image: str) -> list[Finding]:
    def alone(probe: Probe) -> Verdict:
        return evaluate_prediction(row, probe.prediction, sandbox, image)

    if len(batch) == 1:
        return [_judge(batch[0], alone(batch[0]))]
    seeds = row["tests"]["seeds"]
    # One seed is enough to show that an answer is wrong; whatever is not by then is tried on all.
    chosen = seeds[:1] if batch[0].must in (Must.MISREAD, Must.BE_NOTICED) else seeds
    verdicts = evaluate_batch(row, [probe.prediction for probe in batch], sandbox, image, seeds=chosen)
    findings = []
    for probe, verdict in zip(batch, verdicts, strict=True):
        # In a batch an answer stops at its first error: whether it is broken in every case shows only when it is alone.
        broken = not probe.is_mutant and any(case.detail.startswith(_BROKEN) for case in verdict.cases)
        surprising = broken or not probe.must.holds(verdict)
        findings.append(_judge(probe, alone(probe) if surprising else verdict))
    return findings


def _judge(probe: Probe, verdict: Verdict) -> Finding:
    """What a verdict says about the task."""
    if verdict.status is Status.INFRA_ERROR:
        raise InfraError(f"{probe.instance_id} {probe.name}: {verdict.detail}")
    # A wrong answer is told by the core case that it fails; that it breaks the contract as well proves nothing.
    misread = probe.must is Must.MISREAD and verdict.core_status is not Status.PASSED
    reason = verdict.reason(core=misread)
    fault = ""
    if verdict.status is Status.MALFORMED and probe.must in (Must.MISREAD, Must.BE_NOTICED):
        fault = f"cannot be applied, so it proves nothing: {reason}"
    elif not probe.must.holds(verdict):
        fault = _fault(probe, verdict)
    elif probe.must is Must.MISREAD and verdict.cases and _is_broken(verdict):
        fault = f"is broken code, not a mistake that somebody makes: {reason}"
    level = "core" if verdict.core_status is not Status.PASSED else "contract" if verdict.cases else ""
    facts = {"core_status": str(verdict.core_status)} | ({"noticed_by": level} if probe.is_mutant and level else {})
    return Finding(probe.instance_id, probe.name, not fault, fault or reason, str(verdict.status), facts)


def _fault(probe: Probe, verdict: Verdict) -> str:
    """One line on an answer that did not come to what it must."""
    if probe.name.startswith("equivalent/"):
        return f"is not equivalent, the cases notice it: {verdict.reason()}"
    if verdict.status is Status.PASSED:
        return f"{probe.must.value}, but passes: the cases do not notice it"
    if verdict.core_status is Status.PASSED:
        return f"{probe.must.value}, but only other cases notice it: {verdict.reason()}"
    return f"{probe.must.value}: {verdict.reason(core=True)}"


def _is_broken(verdict: Verdict) -> bool:
    return all(case.detail.startswith(_BROKEN) for case in verdict.cases)
