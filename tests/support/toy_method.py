"""A method of the toy benchmark: four functions in two files, and one experiment."""

import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

import lmrbench as lmr
from lmrbench_data.dataset.build import write_dataset
from lmrbench_data.dataset.rows import DatasetRow
from lmrbench_data.loader import METHOD
from lmrbench_data.tasks.manifest import load_benchmark

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
#: A right answer by function.
METHOD_ANSWER = {
    "window.py::weigh": "import math\n\ndef weigh(values):\n    return [math.exp(-value) for value in values]\n",
    "window.py::Window.total": "def total(self, values):\n    return sum(weigh(values[-self.size :]))\n",
    "window.py::Window.mean": "def mean(self, values):\n    return self.total(values) / len(values[-self.size :])\n",
    "scale.py::scale": "def scale(values, factor):\n    return [value * factor for value in values]\n",
}


def method_reply(functions: Mapping[str, str]) -> str:
    """Return these functions as a model replies to the prompt, each in a block."""
    blocks = (f"```python\n# file: {name.partition('::')[0]}\n{source}```\n" for name, source in functions.items())
    return "\n".join(["All functions:\n", *blocks])


def add_toy_method(benchmark: Path) -> Path:
    """Add the method to the toy benchmark."""
    folder = benchmark / "90-toy"
    (folder / "repo" / "window.py").write_text(WINDOW.lstrip())
    (folder / "unit_test" / "method.py").write_text(CASES.lstrip())
    (folder / "method.yaml").write_text(yaml.safe_dump(METHOD_YAML))
    for name, files in VARIANTS.items():
        for path, text in files.items():
            file = folder / "variants" / "toy-method" / name / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(textwrap.dedent(text).lstrip())
    return benchmark


def evaluated_method(
    folder: Path, single: DatasetRow, method: DatasetRow, answers: Mapping[str, Mapping[str, str] | str]
) -> lmr.Run:
    """Write a dataset of both configurations, and evaluate the answers of models to the method.

    Args:
        answers: model → its answer, as functions or as a completion.
    """
    place = folder / "dataset"
    write_dataset([single, method], place, load_benchmark())
    rows = []
    for model, answer in answers.items():
        reply = answer if isinstance(answer, str) else method_reply(answer)
        rows.append({"instance_id": "toy-method", "model_name_or_path": model, "track": "paper", "function": reply})
    return lmr.evaluate(rows, folder / "run", dataset=str(place), config=METHOD, sandbox="local", workers=1)
