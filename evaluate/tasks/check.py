"""Prove that tasks are sound: golden passes and repeats itself, masked fails, valid variants pass, wrong ones fail.

Golden and masked run exactly as a user's prediction does. Variants share sandboxes, which saves most of the time; one
that comes out otherwise than it should is run again alone, and that verdict counts.
"""

import ast
import concurrent.futures
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...build import build_rows
from ...checked import record_checked
from ...errors import InfraError, InputError
from ...loader import File
from ...progress import Progress
from ...rows import DatasetRow
from ...source import block_end, find_function, first_line, split_lines
from ...tasks import Implementation, Task
from ..decode import StreamError
from ..evaluator import evaluate_batch, evaluate_prediction
from ..predictions import Prediction
from ..sandbox.base import Sandbox
from ..verdict import Status, Verdict
from .mutants import make_mutants
from .seeds import variation
from .stability import MANY_RUNS, stability

MIN_VALID, MIN_WRONG = 2, 5
#: The name of the finding that says which cases vary with the seed.
SEEDS = "seeds"
#: Variants that share a sandbox.
BATCH = 16
#: A line of the reference that is this long is no coincidence elsewhere.
_DISTINCTIVE = 40
#: Exceptions of files that were not written with care.
_BROKEN = ("NameError", "ImportError", "ModuleNotFoundError", "UnboundLocalError")


@dataclass(frozen=True)
class Probe:
    """One thing to prove: what an answer must come to."""

    instance_id: str
    name: str
    """`golden`, `masked`, `valid/<file>`, `wrong/<file>`, `mutant/<line before> => <line after>`, or `equivalent/...`
    for a mutant that the task says nobody can tell from the reference."""
    prediction: Prediction
    must_pass: bool

    @property
    def is_mutant(self) -> bool:
        """A mutant may be any nonsense, as long as the cases notice it."""
        return self.name.startswith(("mutant/", "equivalent/"))


@dataclass(frozen=True)
class Finding:
    """A probe and what it came to; without a verdict, a fault that was found by reading, or the note on seeds."""

    instance_id: str
    name: str
    ok: bool
    message: str
    status: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What else --json shows of it."""

    @property
    def is_probe(self) -> bool:
        """Whether something was proved; a note, which is always ok, only informs."""
        return self.name != SEEDS

    def as_row(self) -> dict[str, Any]:
        """For --json."""
        return {
            "instance_id": self.instance_id,
            "probe": self.name,
            "ok": self.ok,
            "status": self.status,
            "message": self.message,
            **self.facts,
        }


def check_tasks(
    tasks: Sequence[Task],
    sandbox: Sandbox,
    *,
    workers: int = 2,
    mutants: bool = False,
    most: int | None = None,
    progress: Progress | None = None,
) -> Iterator[Finding]:
    """Yield a finding for each probe, as they come; after the last, rows without fault count as checked.

    Args:
        mutants: also try every mutant of the reference (`mutants.py`): the cases have to notice it, or it is listed in
            the task as equivalent and they do not.
        most: a quick look: at most so many variants of a kind, spread over all of them, and no repetitions of the
            reference. Everything by default.

    Raises:
        InfraError: the machinery failed, so that nothing can be said.
    """
    rows: dict[str, DatasetRow] = {}
    references: dict[str, Mapping[str, File]] = {}
    probes: list[Probe] = []
    bad: set[str] = set()
    pairs = [(task, item) for task in tasks for item in task.implementations]
    for task, implementation in pairs:
        instance = implementation.instance_id
        faults = list(read_faults(task, implementation))
        bad |= {fault.instance_id for fault in faults}
        yield from faults
        try:
            [row] = build_rows([dataclasses.replace(task, implementations=(implementation,))])
            seeds = variation(row)
        except (InputError, StreamError) as error:
            yield Finding(instance, "recording", False, str(error))
            continue
        cases = {"varying_cases": list(seeds.varying), "constant_cases": list(seeds.constant)}
        yield Finding(instance, SEEDS, True, str(seeds), facts=cases)
        rows[instance], references[instance] = row, task.repo
        probes += _probes(task, implementation, most)
        if mutants:
            tried = list(_mutant_probes(task, implementation))
            probes += tried
            gone = list(_unknown_equivalents(implementation, tried))
            bad |= {fault.instance_id for fault in gone}
            yield from gone
    repeated = list(rows) if most is None else []
    progress = progress or Progress()
    progress.start(len(probes) + 2 * len(repeated))
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
        jobs = [pool.submit(run, batch) for batch in _batches(probes)]
        jobs += [pool.submit(repeat, instance) for instance in repeated]
        try:
            for job in concurrent.futures.as_completed(jobs):
                for finding in job.result():
                    progress.step("ok" if finding.ok else "bad")
                    if not finding.ok:
                        bad.add(finding.instance_id)
                    yield finding
        finally:
            for job in jobs:
                job.cancel()
    if most is None:
        for instance, row in rows.items():
            if instance not in bad:
                record_checked(row, sandbox.name)


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
    # One seed is enough to show that an answer is wrong; whatever passes on it is tried on all.
    chosen = seeds if batch[0].must_pass else seeds[:1]
    verdicts = evaluate_batch(row, [probe.prediction for probe in batch], sandbox, image, seeds=chosen)
    findings = []
    for probe, verdict in zip(batch, verdicts, strict=True):
        # In a batch an answer stops at its first error: whether it is broken in every case shows only when it is alone.
        broken = not probe.is_mutant and any(case.detail.startswith(_BROKEN) for case in verdict.cases)
        surprising = broken or (verdict.status is Status.PASSED) != probe.must_pass
        findings.append(_judge(probe, alone(probe) if surprising else verdict))
    return findings


def read_faults(task: Task, implementation: Implementation) -> Iterator[Finding]:
    """Faults that need no run: too few variants, unreadable ones, wrong ones without a reason, leaks to models."""
    instance = implementation.instance_id
    for kind, least in (("valid", MIN_VALID), ("wrong", MIN_WRONG)):
        paths = task.variants(implementation, kind)
        if len(paths) < least:
            message = f"{len(paths)} {kind} variants, at least {least} are needed"
            yield Finding(instance, kind, False, message)
        for path in paths:
            text = _read(path)
            if text is None:
                yield Finding(instance, f"{kind}/{path.name}", False, "not UTF-8")
            elif kind == "wrong" and not text.startswith("# "):
                yield Finding(instance, f"wrong/{path.name}", False, "the first line must say what is wrong: `# ...`")
    secret = _secret_lines(task.golden_file(implementation), implementation.goal_function)
    shown_to_models = {
        **{f"repo/{name}": file.data for name, file in task.masked_repo(implementation).items()},
        "paper.md": task.paper_text.encode(),
        "instruction": implementation.instruction.encode(),
    }
    for name, content in shown_to_models.items():
        if found := next((line for line in secret if line.encode() in content), None):
            yield Finding(instance, name, False, f"shows a line of the reference: {found}")


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return None


def _secret_lines(golden: str, goal_function: str) -> list[str]:
    """Distinctive lines of the goal function's body, its docstring left out."""
    node = find_function(golden, goal_function).node
    lines = split_lines(golden)
    code = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
    start = first_line(code[0]) - 1 if code else block_end(lines, node)
    body = [line.strip() for line in lines[start : block_end(lines, node)]]
    return [line for line in body if len(line) >= _DISTINCTIVE and not line.startswith("#")]


def _probes(task: Task, implementation: Implementation, most: int | None) -> Iterator[Probe]:
    instance = implementation.instance_id

    def probe(name: str, form: str, content: str, must_pass: bool) -> Probe:
        return Probe(instance, name, Prediction(instance, "check", form, content), must_pass)

    yield probe("golden", "goal_file", task.golden_file(implementation), True)
    masked = task.masked_repo(implementation)[implementation.goal_file].data.decode("utf-8")
    yield probe("masked", "goal_file", masked, False)
    for kind in ("valid", "wrong"):
        paths = task.variants(implementation, kind)
        for path in paths[:: max(1, len(paths) // most) if most else 1][:most]:
            if text := _read(path):
                yield probe(f"{kind}/{path.name}", "function", text, kind == "valid")


def _mutant_probes(task: Task, implementation: Implementation) -> Iterator[Probe]:
    instance = implementation.instance_id
    golden = task.golden_file(implementation)
    for mutant in make_mutants(golden, implementation.goal_function, implementation.remove):
        equivalent = mutant.name in implementation.equivalent_mutants
        name = f"{'equivalent' if equivalent else 'mutant'}/{mutant.name}"
        yield Probe(instance, name, Prediction(instance, "check", "goal_file", mutant.source), must_pass=equivalent)


def _unknown_equivalents(implementation: Implementation, tried: Sequence[Probe]) -> Iterator[Finding]:
    """Entries of `equivalent_mutants` that an edit of the reference has left behind."""
    known = {probe.name for probe in tried}
    for name in implementation.equivalent_mutants:
        if f"equivalent/{name}" not in known:
            message = "no such mutant of the reference: take it out of equivalent_mutants"
            yield Finding(implementation.instance_id, f"equivalent/{name}", False, message)


def _judge(probe: Probe, verdict: Verdict) -> Finding:
    """What a verdict says about the task."""
    if verdict.status is Status.INFRA_ERROR:
        raise InfraError(f"{probe.instance_id} {probe.name}: {verdict.detail}")
    passed = verdict.status is Status.PASSED
    reason = verdict.reason()
    fault = ""
    if probe.must_pass and not passed:
        equivalent = probe.name.startswith("equivalent/")
        fault = f"{'is not equivalent, the cases notice it' if equivalent else 'must pass'}: {reason}"
    elif not probe.must_pass and passed:
        fault = "passes, but must not: the cases do not notice it"
    elif not probe.must_pass and verdict.status is Status.MALFORMED:
        fault = f"cannot be applied, so it proves nothing: {reason}"
    elif not (probe.must_pass or probe.is_mutant) and verdict.cases and _is_broken(verdict):
        fault = f"is broken code, not a mistake that somebody makes: {reason}"
    return Finding(probe.instance_id, probe.name, not fault, fault or reason, str(verdict.status))


def _is_broken(verdict: Verdict) -> bool:
    return all(case.detail.startswith(_BROKEN) for case in verdict.cases)
