# ruff: noqa: E501  # one-line sources
"""`dataset record` and `dataset check` on a method over two files, and answers to it in every form."""

import json
import textwrap
from pathlib import Path
from typing import Any

import pytest
import yaml

from lmrbench_data.base.source import MalformedAnswerError
from lmrbench_data.dataset.build import build_rows
from lmrbench_data.dataset.rows import DatasetRow, goals_of, golden_files_of
from lmrbench_data.tasks.task import METHOD
from lmrbench_data.tasks.task_folders import load_tasks
from lmrbench_evaluate.checks.check import check_tasks
from lmrbench_evaluate.checks.record import record_tasks
from lmrbench_evaluate.predictions.prediction import Prediction
from lmrbench_evaluate.rebuild.workspace import rebuild
from lmrbench_evaluate.sandbox.base import Sandbox
from lmrbench_evaluate.verdict.evaluator import evaluate_prediction
from lmrbench_evaluate.verdict.verdict import Status
from support.toy import patch_that_writes

WINDOW = '''
import math


def weigh(values: list[float]) -> list[float]:
    """The weights of the paper for values in order."""
    return [math.exp(-value) for value in values]


class Window:
    """The last `size` values."""

    def __init__(self, size: int) -> None:
        self.size = size

    def total(self, values: list[float]) -> float:
        """The sum of the paper over the last `size` values."""
        return sum(weigh(values[-self.size :]))

    def mean(self, values: list[float]) -> float:
        """The mean of the paper."""
        return self.total(values) / self._count(values)

    def _count(self, values: list[float]) -> int:
        return min(self.size, len(values))
'''
CASES = """
import random

from lmrbench_cases import experiment, goal
from scale import scale
from window import Window, weigh


def numbers(seed, count):
    generator = random.Random(seed)
    return [generator.uniform(-1, 1) for _ in range(count)]


@goal("weigh")
def case_weigh(seed):
    return weigh(numbers(seed, 4))


@goal("Window.total")
def case_total(seed):
    return [Window(size).total(numbers(seed + size, 5)) for size in (1, 2, 3)]


@goal("Window.mean")
def case_mean(seed):
    return [Window(size).mean(numbers(seed + size, 5)) for size in (2, 3, 9)]


@experiment
def case_series(seed):
    return [Window(2).mean(scale(numbers(seed + step, 4), 1.5)) for step in range(3)]
"""
METHOD_YAML: dict[str, Any] = {
    "instance_id": "toy-method",
    "category": "Evaluation Metrics",
    "goals": {"window.py": ["weigh", "Window.total", "Window.mean"], "scale.py": ["scale"]},
    "remove": {"window.py": ["Window._count"]},
    "context_files": [],
    "instruction": "Implement the weights, the window and the scaling of the paper, as the docstrings describe them.",
    "tests": {"file": "unit_test/method.py", "seeds": [0, 1], "timeout_s": 30, "memory_mb": 512},
}
#: kind/name → file → the functions that the variant writes differently
VARIANTS = {
    "valid/loop": {
        "window.py": """
        # A loop, and a helper of its own in place of the reference's.
        import math

        def _weight(value):
            return 1 / math.exp(value)

        def weigh(values):
            found = []
            for value in values:
                found.append(_weight(value))
            return found

        class Window:
            def mean(self, values):
                return self.total(values) / self._kept(values)

            def _kept(self, values):
                return len(values[-self.size :])
        """,
        "scale.py": "def scale(values, factor):\n    return [factor * value for value in values]\n",
    },
    "valid/fsum": {
        "window.py": """
        class Window:
            def total(self, values):
                return math.fsum(weigh(values[-self.size :]))
        """
    },
    "plain/map": {
        "scale.py": "def scale(values, factor):\n    return list(map(lambda value: value * factor, values))\n"
    },
    "plain/power": {
        "window.py": "import math\n\ndef weigh(values):\n    return [math.e**-value for value in values]\n"
    },
    "wrong/sign": {
        "window.py": "# Grows.\nimport math\n\ndef weigh(values):\n    return [math.exp(v) for v in values]\n"
    },
    "wrong/first": {
        "window.py": """
        # The first values in place of the last.
        class Window:
            def total(self, values):
                return sum(weigh(values[: self.size]))
        """
    },
    "wrong/size": {
        "window.py": """
        # Divides by the size, however few values there are.
        class Window:
            def mean(self, values):
                return self.total(values) / self.size
        """
    },
    "wrong/square": {
        "scale.py": "# Squares.\ndef scale(values, factor):\n    return [value * factor**2 for value in values]\n"
    },
    "wrong/offset": {
        "scale.py": "# Adds.\ndef scale(values, factor):\n    return [value + factor for value in values]\n"
    },
}


@pytest.fixture
def benchmark(toy_benchmark: Path) -> Path:
    folder = toy_benchmark / "90-toy"
    (folder / "repo" / "window.py").write_text(WINDOW.lstrip())
    (folder / "unit_test" / "method.py").write_text(CASES.lstrip())
    (folder / "method.yaml").write_text(yaml.safe_dump(METHOD_YAML))
    for name, files in VARIANTS.items():
        for path, text in files.items():
            file = folder / "variants" / "toy-method" / name / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(textwrap.dedent(text).lstrip())
    return toy_benchmark


@pytest.fixture
def row(benchmark: Path, local_sandbox: Sandbox) -> DatasetRow:
    tasks = load_tasks(benchmark=benchmark, config=METHOD)
    list(record_tasks(tasks, local_sandbox))
    [row] = build_rows(tasks)
    return row


def answer(row: DatasetRow, form: str, content: Any) -> Prediction:
    text = content if isinstance(content, str) else json.dumps(content)
    return Prediction(row["instance_id"], "model", form, text)


def errors(benchmark: Path, sandbox: Sandbox, **options: Any) -> dict[str, str]:
    tasks = load_tasks(benchmark=benchmark, config=METHOD)
    list(record_tasks(tasks, sandbox))
    return {item.where: item.message for item in check_tasks(tasks, sandbox, **options) if item.is_error}


def test_a_sound_method_has_no_errors_and_each_unsound_part_is_named(benchmark: Path, local_sandbox: Sandbox) -> None:
    # The offset of the toy is zero: no case can notice its mutants. All others are noticed, those of both files.
    assert all("OFFSET" in place for place in errors(benchmark, local_sandbox, mutants=True))
    folder = benchmark / "90-toy" / "variants" / "toy-method"
    (folder / "wrong" / "sign" / "window.py").write_text(
        "# Right.\nimport math\n\ndef weigh(values):\n    return [math.exp(-v) for v in values]\n"
    )
    (folder / "valid" / "fsum" / "window.py").write_text(
        "class Window:\n    def total(self, values):\n        return 0.0\n"
    )
    found = errors(benchmark, local_sandbox, resume=False)
    assert found.keys() == {"wrong/sign", "valid/fsum"}
    assert "must fail a core case, but passes" in found["wrong/sign"]


def test_a_row_holds_all_goals_and_no_answer(row: DatasetRow) -> None:
    assert goals_of(row) == METHOD_YAML["goals"]
    assert golden_files_of(row)["window.py"] == WINDOW.lstrip()
    assert not {"goal_file", "goal_function", "golden_file", "contract"} & row.keys()
    assert {case["name"]: case["goals"] for case in row["tests"]["cases"]} == {
        "weigh": ["weigh"],
        "total": ["Window.total"],
        "mean": ["Window.mean"],
        "series": [],
    }
    assert all(case["core"] for case in row["tests"]["cases"])


def test_every_form_of_the_reference_reproduces(row: DatasetRow, local_sandbox: Sandbox) -> None:
    golden = golden_files_of(row)
    functions = {
        "scale.py::scale": "def scale(values, factor):\n    return [value * factor for value in values]\n",
        "window.py::weigh": "import math\n\ndef weigh(values):\n    return [math.exp(-value) for value in values]\n",
        "window.py::Window.total": "def total(self, values):\n    return sum(weigh(values[-self.size :]))\n",
        "window.py::Window.mean": "def mean(self, values):\n    return self.total(values) / len(values[-self.size :])\n",
    }
    answers = {"files": golden, "functions": functions, "model_patch": patch_that_writes(row, golden)}
    verdicts = {
        form: evaluate_prediction(row, answer(row, form, content), local_sandbox, "")
        for form, content in answers.items()
    }
    assert {form: verdict.status for form, verdict in verdicts.items()} == dict.fromkeys(answers, Status.PASSED)
    del functions["window.py::weigh"]
    verdict = evaluate_prediction(row, answer(row, "functions", functions), local_sandbox, "")
    assert verdict.core_status is Status.ERROR  # a function that is not there raises NotImplementedError


#: form, content → what the message names
UNUSABLE = {
    "no_json": ("functions", "def scale(): ...", "functions must be an object of texts"),
    "a_list": ("files", [1], "files must be an object of texts"),
    "another_function": ("functions", {"scale.py::main": "def main(): ..."}, "'scale.py::main' is not masked"),
    "an_outside_path": ("files", {"../x.py": ""}, "not a plain path"),
    "a_git_folder": ("files", {".git/config": ""}, ".git"),
    "no_definition": ("files", {"window.py": "x = 1\n"}, "window.py"),
    "no_python": ("functions", {"scale.py::scale": "def scale(:"}, "scale.py::scale: syntax error"),
}


@pytest.mark.parametrize("name", UNUSABLE)
def test_an_unusable_answer_is_malformed(name: str, row: DatasetRow) -> None:
    form, content, words = UNUSABLE[name]
    with pytest.raises(MalformedAnswerError) as caught:
        rebuild(row, answer(row, form, content))
    assert words in str(caught.value)
