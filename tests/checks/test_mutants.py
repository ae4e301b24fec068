"""Mutants of a reference: each changes its body and nothing else, and the cases of a sound task notice every one."""

import os
from pathlib import Path

import pytest

from lmrbench_data.tasks.masking import mask_function
from lmrbench_data.tasks.task import Implementation, Task
from lmrbench_data.tasks.task_folders import load_tasks
from lmrbench_evaluate.checks.check import check_tasks
from lmrbench_evaluate.checks.mutants import make_mutants
from lmrbench_evaluate.checks.record import record_tasks
from lmrbench_evaluate.sandbox.base import Sandbox

EVERY = [(task, item) for task in load_tasks() for item in task.implementations]
#: Mutating a reference takes seconds: some of them in every run, all with `make test-all`.
INSTANCES = EVERY if os.environ.get("LMRBENCH_IN_DEPTH") else EVERY[::5]


@pytest.mark.slow
@pytest.mark.parametrize(("task", "item"), INSTANCES, ids=[item.instance_id for _, item in INSTANCES])
@pytest.mark.sampled(8)
def test_a_mutant_changes_the_body_of_the_goal_function_only(task: Task, item: Implementation) -> None:
    golden = task.golden_file(item)
    mutants = make_mutants(golden, item.goal_function)  # helpers left out: masking them leaves nothing to compare
    assert len(mutants) >= 5
    assert len({mutant.name for mutant in mutants}) == len({mutant.source for mutant in mutants}) == len(mutants)
    masked = mask_function(golden, item.goal_function)
    assert {mask_function(mutant.source, item.goal_function) for mutant in mutants} == {masked}
    assert golden not in {mutant.source for mutant in mutants}


def test_every_kind_of_change_is_made() -> None:
    source = """
def f(x, y, *, flag=True):
    \"\"\"Doc 1 + 1.\"\"\"
    with torch.no_grad():
        x = x.detach()
    if x > 1 and not flag:
        raise ValueError("no 2")
    assert flag, f"no {y + 3}" "?"
    total = x.sum(dim=-1) * 2.5
    total += g(x, y)
    return total, y
"""
    names = {mutant.name for mutant in make_mutants(source, "f")}
    assert not [name for name in names if name.startswith("assert") and not name.endswith("=> pass")], "texts stay"
    assert {
        "with torch.no_grad(): => if True:",
        "x = x.detach() => x = x",
        "if x > 1 and not flag: => if x >= 1 and not flag:",
        "if x > 1 and not flag: => if x > 1 or not flag:",
        "if x > 1 and not flag: => if x > 1 and flag:",
        "if x > 1 and not flag: => if x > 2 and not flag:",
        'raise ValueError("no 2") => pass',
        "total = x.sum(dim=-1) * 2.5 => total = x.sum(dim=0) * 2.5",
        "total = x.sum(dim=-1) * 2.5 => total = x.sum(dim=-1) / 2.5",
        "total = x.sum(dim=-1) * 2.5 => total = x.sum(dim=-1) * 5.0",
        "total += g(x, y) => pass",
        "total += g(x, y) => total -= g(x, y)",
        "total += g(x, y) => total += g(y, x)",
        "return total, y => return y, total",
    } <= names


def test_helpers_that_are_masked_too_are_mutated() -> None:
    source = (
        "LIMIT: int = 3\nOTHER = 5\n\n\ndef helper(x):\n    return x + 1\n\n\ndef f(x):\n    return helper(x) * LIMIT\n"
    )
    names = {mutant.name for mutant in make_mutants(source, "f", ["helper", "LIMIT"])}
    assert {"LIMIT: int = 3 => LIMIT: int = 4", "return x + 1 => return x - 1"} <= names
    assert not any(name.startswith("OTHER") for name in names)
    assert {"return helper(x) * LIMIT => return helper(x) / LIMIT"} < names - {
        mutant.name for mutant in make_mutants(source, "helper")
    }


@pytest.mark.slow
def test_survivors_are_reported_and_equivalents_are_left_out(toy_benchmark: Path, local_sandbox: Sandbox) -> None:
    def survivors() -> list[str]:
        tasks = load_tasks(benchmark=toy_benchmark)
        list(record_tasks(tasks, local_sandbox))
        findings = check_tasks(tasks, local_sandbox, mutants=True)
        return [finding.where for finding in findings if finding.is_error]

    # OFFSET is 0, so adding and subtracting it come to the same, and so does leaving it out.
    line = "scaled = [value * factor + OFFSET for value in values]"
    expected = [f"{line} => {line.replace('+', '-')}", f"{line} => {line.replace(' + OFFSET', '')}"]
    assert sorted(survivors()) == sorted(f"mutant/{name}" for name in expected)

    path = toy_benchmark / "90-toy" / "task.yaml"
    listed = "".join(f"      {name!r}: OFFSET is 0\n" for name in expected)
    path.write_text(path.read_text().rstrip() + f"\n    equivalent_mutants:\n{listed}")
    assert survivors() == []

    noticed = f"{line} => {line.replace('value * factor', 'value / factor')}"
    entries = f"      {noticed!r}: claimed wrongly\n      'gone => gone': left behind by an edit\n"
    path.write_text(path.read_text() + entries)
    assert sorted(survivors()) == ["equivalent/gone => gone", f"equivalent/{noticed}"]
