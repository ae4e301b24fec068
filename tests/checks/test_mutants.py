"""`tests/mutants.py`: each mutant changes one place in a body, and those that no case notices are listed."""

from pathlib import Path

import pytest

from lmrbench_data.tasks.task_folders import load_tasks
from lmrbench_evaluate.checks.record import record_tasks
from lmrbench_evaluate.sandbox.base import Sandbox
from mutants import errors, make_mutants

SOURCE = '''
LIMIT: int = 3


def f(x, y, *, flag=True):
    """Doc 1 + 1."""
    with torch.no_grad():
        x = x.detach()
    if x > 1 and not flag:
        raise ValueError("no 2")
    assert flag, f"no {y + 3}" "?"
    total = x.sum(dim=-1) * 2.5
    total += g(x, y)
    return total, y
'''


def test_every_kind_of_change_is_made() -> None:
    names = set(make_mutants(SOURCE, "f", ["LIMIT"]))
    assert not [name for name in names if name.startswith("assert") and not name.endswith("=> pass")], "messages stay"
    assert {
        "LIMIT: int = 3 => LIMIT: int = 4",
        "with torch.no_grad(): => if True:",
        "x = x.detach() => x = x",
        "if x > 1 and not flag: => if x >= 1 and not flag:",
        "if x > 1 and not flag: => if x > 1 or not flag:",
        'raise ValueError("no 2") => pass',
        "total = x.sum(dim=-1) * 2.5 => total = x.sum(dim=0) * 2.5",
        "total += g(x, y) => total += g(y, x)",
        "return total, y => return y, total",
    } <= names


@pytest.mark.slow
def test_survivors_are_listed(toy_benchmark: Path, local_sandbox: Sandbox) -> None:
    [task] = load_tasks(benchmark=toy_benchmark)
    list(record_tasks([task], local_sandbox))
    line = "scaled = [value * factor + OFFSET for value in values]"  # OFFSET is 0
    survivors = [f"{line} => {line.replace('+', '-')}", f"{line} => {line.replace(' + OFFSET', '')}"]
    found = list(errors(task, task.instances[0], local_sandbox))
    assert sorted(found) == sorted(f"not noticed: {name}" for name in survivors)
