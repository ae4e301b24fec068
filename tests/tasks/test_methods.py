"""Methods: all functions of a paper's contribution are masked at once, with what only they need."""

import ast
from pathlib import Path
from typing import Any

import pytest
import yaml

from lmrbench_data.base.errors import InputError
from lmrbench_data.loader import FUNCTION, METHOD
from lmrbench_data.tasks.masking import drop_unused_imports, mask_function
from lmrbench_data.tasks.task_folders import choose_config, choose_folders, load_tasks
from lmrbench_evaluate.checks.lint import lint_tasks

FILTERS = '''
import math
from typing import (
    Any,
    Sequence,
)

import torch.nn.functional as F
from torch import Tensor, nn

#: The weight of the paper.
WEIGHT = 0.5


def cut(scores: list[float], bound: float) -> list[float]:
    """Scores above the bound of the paper."""
    found: Sequence[float] = scores
    return [score for score in found if score > math.log(bound)]


class Filter(nn.Module):
    """Cuts scores."""

    def forward(self, x: Tensor) -> Tensor:
        """Apply the filter."""
        return F.softmax(self._weigh(x), dim=-1)

    # Only the answer needs it.
    def _weigh(self, x: Tensor) -> Tensor:
        return WEIGHT * x


def untouched(x: Any) -> Any:
    return x
'''.lstrip()
MASKED = '''
from typing import Any

from torch import Tensor, nn

def cut(scores: list[float], bound: float) -> list[float]:
    """Scores above the bound of the paper."""
    raise NotImplementedError


class Filter(nn.Module):
    """Cuts scores."""

    def forward(self, x: Tensor) -> Tensor:
        """Apply the filter."""
        raise NotImplementedError


def untouched(x: Any) -> Any:
    return x
'''.lstrip()
METHOD_YAML: dict[str, Any] = {
    "instance_id": "toy-method",
    "category": "Evaluation Metrics",
    "goals": {"filters.py": ["cut", "Filter.forward"], "scale.py": ["scale"]},
    "remove": {"filters.py": ["Filter._weigh", "WEIGHT"]},
    "context_files": [],
    "evidence": ["filters.py#Filter"],
    "instruction": "Implement the filter and the scaling of the paper, as the docstrings describe their interfaces.",
    "tests": {"file": "unit_test/method.py", "seeds": [0, 1, 2], "timeout_s": 60, "memory_mb": 1024},
}


@pytest.fixture
def toy_method(toy_benchmark: Path) -> Path:
    """The toy benchmark with a method over two files."""
    folder = toy_benchmark / "90-toy"
    (folder / "repo" / "filters.py").write_text(FILTERS)
    (folder / "unit_test" / "method.py").write_text("def case_cut(seed):\n    return seed\n")
    write(toy_benchmark)
    return toy_benchmark


def write(benchmark: Path, **changes: Any) -> None:
    (benchmark / "90-toy" / "method.yaml").write_text(yaml.safe_dump({**METHOD_YAML, **changes}))


def test_a_method_masks_its_functions_and_what_only_they_need(toy_method: Path) -> None:
    [task] = load_tasks(benchmark=toy_method, config=METHOD)
    [method] = task.instances
    masked = task.masked_repo(method)
    text = masked["filters.py"].data.decode()
    assert text == MASKED
    assert "raise NotImplementedError" in masked["scale.py"].data.decode()
    assert task.golden_files(method) == {name: task.repo[name].data.decode() for name in ("filters.py", "scale.py")}
    assert {name for name in task.repo if masked[name] != task.repo[name]} == {"filters.py", "scale.py"}


#: changes of method.yaml → what the message names
MALFORMED: dict[str, tuple[dict[str, Any], list[str]]] = {
    "a_name": ({"instance_id": "toy"}, ["instance_id", "ends with -method"]),
    "a_missing_function": ({"goals": {"filters.py": ["gone"]}, "remove": {}}, ["filters.py: ", "gone"]),
    "a_goal_that_is_removed": ({"remove": {"filters.py": ["Filter"]}}, ["remove", "'Filter'", "goal function"]),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_method_yaml_names_file_key_and_fix(name: str, toy_method: Path) -> None:
    changes, words = MALFORMED[name]
    write(toy_method, **changes)
    with pytest.raises(InputError) as caught:
        load_tasks(benchmark=toy_method, config=METHOD)
    message = str(caught.value)
    assert str(toy_method / "90-toy" / "method.yaml") in message
    assert [word for word in words if word not in message] == []
    assert "\n" not in message


def test_variants_of_a_method_belong_to_its_task(toy_method: Path) -> None:
    variant = toy_method / "90-toy" / "variants" / "toy-method" / "wrong" / "sum" / "scale.py"
    variant.parent.mkdir(parents=True)
    variant.write_text("def scale(values, factor):\n    return values\n")
    assert not [problem for problem in lint_tasks((), toy_method)[1] if "belongs to no instance" in problem.message]
    [task] = load_tasks(benchmark=toy_method, config=METHOD)
    assert task.variants(task.instances[0], "wrong") == [variant.parent]


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
