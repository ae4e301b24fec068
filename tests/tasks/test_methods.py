"""Methods: all functions of a paper's contribution are masked at once, with what only they need."""

import ast
from pathlib import Path
from typing import Any

import pytest
import yaml

from lmrbench.checks.lint import lint_tasks
from lmrbench_data.base.errors import InputError
from lmrbench_data.loader import FUNCTION, METHOD
from lmrbench_data.tasks.masking import drop_unused_imports, mask_function
from lmrbench_data.tasks.task_folders import choose_config, choose_folders, load_tasks
from support.toy_method import METHOD_YAML, add_toy_method

MASKED = '''
def weigh(values: list[float]) -> list[float]:
    """The weights of the paper for values in order."""
    raise NotImplementedError


class Window:
    """The last `size` values."""

    def __init__(self, size: int) -> None:
        self.size = size

    def total(self, values: list[float]) -> float:
        """The sum of the paper over the last `size` values."""
        raise NotImplementedError

    def mean(self, values: list[float]) -> float:
        """The mean of the paper."""
        raise NotImplementedError
'''


@pytest.fixture
def toy_method(toy_benchmark: Path) -> Path:
    """The toy benchmark with a method over two files."""
    return add_toy_method(toy_benchmark)


def write(benchmark: Path, **changes: Any) -> None:
    (benchmark / "90-toy" / "method.yaml").write_text(yaml.safe_dump({**METHOD_YAML, **changes}))


def test_a_method_masks_its_functions_and_what_only_they_need(toy_method: Path) -> None:
    [task] = load_tasks(benchmark=toy_method, config=METHOD)
    [method] = task.instances
    masked = task.masked_repo(method)
    assert masked["window.py"].data.decode().strip() == MASKED.strip()
    assert "raise NotImplementedError" in masked["scale.py"].data.decode()
    assert task.golden_files(method) == {name: task.repo[name].data.decode() for name in ("window.py", "scale.py")}
    assert {name for name in task.repo if masked[name] != task.repo[name]} == {"window.py", "scale.py"}


def test_variants_of_a_method_belong_to_its_task(toy_method: Path) -> None:
    assert not [problem for problem in lint_tasks((), toy_method)[1] if "belongs to no instance" in problem.message]
    [task] = load_tasks(benchmark=toy_method, config=METHOD)
    assert [path.name for path in task.variants(task.instances[0], "plain")] == ["map", "power"]


def test_an_instance_id_belongs_to_one_task(toy_method: Path) -> None:
    with pytest.raises(InputError, match="'bogus' is unknown; one of: function, method"):
        load_tasks(benchmark=toy_method, config="bogus")
    with pytest.raises(InputError, match="config: toy-method belongs to the configuration method"):
        load_tasks(["toy-method"], toy_method)
    assert choose_config(["toy-method"], toy_method) == METHOD
    assert choose_config(["toy-method", "toy-scale"], toy_method) == choose_config(["90-toy"], toy_method) == FUNCTION
    assert choose_folders(["toy-method", "90-toy", "other"], toy_method) == ["90-toy", "90-toy", "other"]
    write(toy_method, instance_id="toy-method")
    [task] = load_tasks(["toy-method"], toy_method, METHOD)
    assert task.method is not None
    assert task.instances == (task.method,)


def test_imports_stay_if_anything_reads_them() -> None:
    before = (
        'import a\nimport b.c\nimport d as e\nfrom f import g, h\n\n\ndef k(x: "g") -> int:\n    return e(b.c, h)\n'
    )
    after = mask_function(before, "k")
    # `a` was unused before, so its import is there for another reason; `g` is read in a string.
    assert drop_unused_imports(before, after).startswith("import a\nfrom f import g\n\n\ndef k")
    ast.parse(drop_unused_imports(before, after))
