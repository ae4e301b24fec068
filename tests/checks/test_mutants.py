"""`tests/mutants.py`: changes of the toy's reference that no case notices are listed."""

from pathlib import Path

import pytest

from lmrbench.checks.record import record_tasks
from lmrbench_data.tasks.task_folders import load_tasks
from lmrbench_evaluate.sandbox.base import Sandbox


@pytest.mark.slow
def test_survivors_are_listed(toy_benchmark: Path, local_sandbox: Sandbox) -> None:
    from mutants import errors  # libcst is slow to import

    [task] = load_tasks(benchmark=toy_benchmark)
    list(record_tasks([task], local_sandbox))
    line = "scaled = [value * factor + OFFSET for value in values]"  # OFFSET is 0
    survivors = [f"{line} => {line.replace('+', '-')}", f"{line} => {line.replace(' + OFFSET', '')}"]
    found = list(errors(task, task.instances[0], local_sandbox))
    assert sorted(found) == sorted(f"not noticed: {name}" for name in survivors)
