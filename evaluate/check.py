"""Prove that tasks are sound: golden passes, masked does not, valid variants pass, wrong ones fail; nothing leaks.

Everything runs through the same path as a user's prediction, in the same sandbox.
"""

import concurrent.futures
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from lmrbench_data.build import Recorder, build_rows
from lmrbench_data.errors import InfraError
from lmrbench_data.evaluate.evaluator import Verdict, evaluate_prediction
from lmrbench_data.evaluate.predictions import Prediction
from lmrbench_data.evaluate.sandbox import Sandbox, Say
from lmrbench_data.evaluate.verdict import Status
from lmrbench_data.loader import read_archive
from lmrbench_data.source import block_end, find_function, split_lines
from lmrbench_data.tasks import Implementation, Task

MIN_VALID, MIN_WRONG = 2, 5
#: A line of the reference that is this long is no coincidence elsewhere.
_DISTINCTIVE = 40


@dataclass(frozen=True)
class Probe:
    """One thing to prove: what an answer must come to."""

    instance_id: str
    name: str
    """`golden`, `masked`, `valid/<file>` or `wrong/<file>`."""
    prediction: Prediction
    must_pass: bool


@dataclass(frozen=True)
class Finding:
    """A probe and what it came to; without a verdict, a fault that was found by reading."""

    instance_id: str
    name: str
    ok: bool
    message: str
    status: str = ""

    def as_row(self) -> dict[str, Any]:
        """For --json."""
        return {
            "instance_id": self.instance_id,
            "probe": self.name,
            "ok": self.ok,
            "status": self.status,
            "message": self.message,
        }


def check_tasks(
    tasks: Sequence[Task],
    recorder: Recorder,
    sandbox: Sandbox,
    say: Say,
    *,
    workers: int = 2,
    on_start: Callable[[int], None] = lambda count: None,
) -> Iterator[Finding]:
    """Yield a finding for each probe, as they come.

    Args:
        on_start: told how many probes will run.

    Raises:
        InputError: a reference does not run.
        InfraError: the machinery failed, so that nothing can be said.
    """
    rows = {str(row["instance_id"]): row for row in build_rows(tasks, recorder)}
    probes: list[Probe] = []
    for task in tasks:
        for implementation in task.implementations:
            yield from read_faults(task, implementation)
            masked = read_archive(rows[implementation.instance_id]["repo_archive"])[implementation.goal_file]
            probes += _probes(task, implementation, masked.data.decode("utf-8"))
    on_start(len(probes))
    images = {str(row["docker_image"]): "" for row in rows.values()}
    for tag in images:
        images[tag] = sandbox.prepare(tag, say)

    def run(probe: Probe) -> tuple[Probe, Verdict]:
        row = rows[probe.instance_id]
        return probe, evaluate_prediction(row, probe.prediction, sandbox, images[row["docker_image"]])

    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        for future in concurrent.futures.as_completed([pool.submit(run, probe) for probe in probes]):
            yield _judge(*future.result())


def read_faults(task: Task, implementation: Implementation) -> Iterator[Finding]:
    """Faults that need no run: too few variants, a wrong variant without its reason, leaks into what models see."""
    instance = implementation.instance_id
    for kind, least in (("valid", MIN_VALID), ("wrong", MIN_WRONG)):
        paths = task.variants(implementation, kind)
        if len(paths) < least:
            message = f"{len(paths)} {kind} variants, at least {least} are needed"
            yield Finding(instance, kind, False, message)
        for path in paths:
            if kind == "wrong" and not path.read_text(encoding="utf-8").startswith("# "):
                yield Finding(instance, f"wrong/{path.name}", False, "the first line must say what is wrong: `# ...`")
    secret = _secret_lines(task.golden_file(implementation), implementation.goal_function)
    for name, file in task.masked_repo(implementation).items():
        text = file.data.decode("utf-8", "replace")
        shown = next((line for line in secret if line in text), None)
        if shown:
            yield Finding(instance, f"repo/{name}", False, f"shows a line of the reference: {shown}")
    shown = next((line for line in secret if line in task.paper_text or line in implementation.instruction), None)
    if shown:
        yield Finding(instance, "paper.md or instruction", False, f"shows a line of the reference: {shown}")


def _secret_lines(golden: str, goal_function: str) -> set[str]:
    """Distinctive lines of the goal function's body."""
    node = find_function(golden, goal_function).node
    lines = split_lines(golden)
    body = {line.strip() for line in lines[node.body[0].end_lineno or 0 : block_end(lines, node)]}
    return {line for line in body if len(line) >= _DISTINCTIVE and not line.startswith("#")}


def _probes(task: Task, implementation: Implementation, masked: str) -> Iterator[Probe]:
    instance = implementation.instance_id

    def probe(name: str, form: str, content: str, must_pass: bool) -> Probe:
        return Probe(instance, name, Prediction(instance, "check", form, content), must_pass)

    yield probe("golden", "goal_file", task.golden_file(implementation), True)
    yield probe("masked", "goal_file", masked, False)
    for kind in ("valid", "wrong"):
        for path in task.variants(implementation, kind):
            yield probe(f"{kind}/{path.name}", "function", path.read_text(encoding="utf-8"), kind == "valid")


def _judge(probe: Probe, verdict: Verdict) -> Finding:
    if verdict.status is Status.INFRA_ERROR:
        raise InfraError(f"{probe.instance_id} {probe.name}: {verdict.detail}")
    passed = verdict.status is Status.PASSED
    reason = verdict.reason()
    # A wrong variant must be found out by the tests; one that cannot even be applied proves nothing about them.
    usable = probe.must_pass or verdict.status is not Status.MALFORMED
    ok = passed == probe.must_pass and usable
    if ok:
        message = reason
    elif passed:
        message = "passes, but must not: the cases do not notice it"
    else:
        message = f"must {'pass' if probe.must_pass else 'apply and fail'}: {reason}"
    return Finding(probe.instance_id, probe.name, ok, message, str(verdict.status))
