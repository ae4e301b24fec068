"""Choices for the toy method: two decisions with three options each, and papers that alter them or leave them open."""

from pathlib import Path
from typing import Any

import yaml

from support.toy_method import CASES as METHOD_CASES
from support.toy_method import METHOD_YAML, add_toy_method

PAPER = """# A Toy

Each number is multiplied by a factor. Old values count less.

<!-- choice: weights -->
The weight of a value $x$ is $e^{-x}$: it falls by the same factor everywhere.
<!-- /choice -->

<!-- choice: average -->
The mean divides the sum of the weights by the number of values that are there.
<!-- /choice -->
"""
#: choice → file of its folder → text
CHOICES: dict[str, dict[str, str]] = {
    "weights": {
        "question.md": "How do weights fall?\n",
        "open.md": "The weight of a value falls with the value.\n",
        "cauchy.md": "The weight of a value $x$ is $1 / (1 + 3 x^2)$: it falls slowly, so that outliers still count.\n",
        "cauchy.py": "def weigh(values):\n    return [1 / (1 + 3 * value**2) for value in values]\n",
        "linear.md": "The weight of a value $x$ is $1 - 0.3 x$: it falls evenly.\n",
        "linear.py": "SLOPE = 0.3\n\n\ndef weigh(values):\n    return [1 - SLOPE * value for value in values]\n",
    },
    "average": {
        "question.md": "What does the mean divide by?\n",
        "open.md": "The mean divides the sum of the weights by a number.\n",
        "size.md": "The mean divides the sum of the weights by the size of the window, whatever it holds.\n",
        "size.py": "class Window:\n    def mean(self, values):\n        return self.total(values) / self.size\n",
        "root.md": "The mean divides the sum of the weights by the square root of the number of values.\n",
        "root.py": """class Window:
    def mean(self, values):
        return self.total(values) / len(values[-self.size :]) ** 0.5
""",
    },
}
#: The method's cases, which depend on one choice each.
CASES = METHOD_CASES.replace(
    """@goal("weigh")""",
    """class Fixed(Window):
    def total(self, values):
        return sum(values)


@goal("weigh")""",
)
CASES = CASES.replace("[Window(size).mean", "[Fixed(size).mean").replace("[Window(2).mean", "[Window(3).mean")
CASES = CASES.replace("seed + step, 4", "seed + step, 2")
EXPERIMENTS = """from window import Window


def table_series():
    values = [0.1, 0.9, 0.4, 0.7]
    return {f"{size}": {"mean": Window(size).mean(values)} for size in (2, 3, 6)}
"""
UNDERSPECIFIED: dict[str, Any] = {
    "open": ["weights", "average"],
    "options": {"average": "root"},
    "tables": ["series"],
    "cpu_budget_s": 20,
    "equal_outsiders": {f"{name} reversed": "nothing depends on the order" for name in ("weights", "average")},
}
#: An experiment whose cells depend on both choices of the toy.
MIXED = """\
from window import Window


def grown(x):
    return x


def table_outcome():
    values = [0.1, 0.9, 0.4, 0.7]
    return {f"{size}": {"mean": grown(Window(size).mean(values))} for size in range(5, 11)}
"""
#: Makes a row silent; its experiments are `MIXED`.
SILENT: dict[str, Any] = {
    "difficulty": "silent",
    "tables": ["outcome"],
    "options": {"weights": "cauchy", "average": "root"},
    "experiments": "own.py",
}
STATED: dict[str, Any] = {
    "weights": {"published": "exponential", "file": "window.py", "functions": ["weigh"]},
    "average": {"published": "count", "file": "window.py", "functions": ["Window.mean"]},
}
COUNTERFACTUAL = [{"weights": "cauchy", "average": "size"}, {"weights": "linear", "average": "root"}]


def add_toy_choices(benchmark: Path, **changes: Any) -> Path:
    """Give the toy task a method with choices; return the benchmark.

    Args:
        changes: keys of method.yaml to replace.
    """
    add_toy_method(benchmark)
    folder = benchmark / "90-toy"
    (folder / "paper.md").write_text(PAPER)
    (folder / "unit_test" / "method.py").write_text(CASES.lstrip())
    (folder / "experiments.py").write_text(EXPERIMENTS)
    altered = {"counterfactual": COUNTERFACTUAL, "underspecified": [UNDERSPECIFIED]}
    facts = {**METHOD_YAML, "choices": STATED, **altered, **changes}
    (folder / "method.yaml").write_text(yaml.safe_dump(facts))
    for name, files in CHOICES.items():
        for path, text in files.items():
            file = folder / "choices" / name / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
    return benchmark
