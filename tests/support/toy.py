"""A toy benchmark that needs no torch, and answers to its task."""

import difflib
import json
import os
import runpy
import shutil
import textwrap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lmrbench.checks.record import record_tasks
from lmrbench_data.base.paths import benchmark_folder
from lmrbench_data.dataset.build import build_rows, write_dataset
from lmrbench_data.dataset.rows import DatasetRow
from lmrbench_data.loader import read_archive, row_sha256
from lmrbench_data.tasks.manifest import load_benchmark
from lmrbench_data.tasks.task_folders import load_tasks
from lmrbench_evaluate import runner
from lmrbench_evaluate.predictions.prediction import Prediction
from lmrbench_evaluate.sandbox.base import Ended, Outcome, Sandbox
from lmrbench_evaluate.sandbox.docker_client import RUN_LABEL, connect
from lmrbench_evaluate.verdict.decode import Frame, write_frame
from lmrbench_evaluate.verdict.evaluator import evaluate_prediction
from lmrbench_evaluate.verdict.expected import read_expected
from lmrbench_evaluate.verdict.verdict import CaseResult, Verdict, grade

IN_CI = bool(os.environ.get("CI"))

#: Set by `make test-all`: run every parameter of every test, and check each task in full.
IN_DEPTH = bool(os.environ.get("LMRBENCH_IN_DEPTH"))

TOY_TASK = """
paper: {title: A Toy, authors: Nobody, url: "https://example.org/toy", arxiv_id: null, venue: Nowhere 2026, year: 2026}
upstream_repo: https://example.org/toy.git
repo_name: toy
license: mit
environment: torch-cpu
demo_command: python scale.py
implementations:
  - instance_id: toy-scale
    category: Evaluation Metrics
    goal_file: scale.py
    goal_function: scale
    context_files: [helpers.py]
    depends_on: [helpers.py]
    instruction: |
      Implement `scale(values, factor)` in `scale.py`: the scaling of the paper.
    contract: |
      Return a new list with each value times `factor`, in the same order. An empty list gives an empty list. The input
      list stays as it is.
    tests: {file: unit_test/cases.py, seeds: [0, 1], timeout_s: 20, memory_mb: 256}
"""

TOY_REPO = {
    "helpers.py": '"""Helpers of the toy."""\n\nOFFSET = 0.0\n',
    "scale.py": '''
        """Scale numbers."""

        from helpers import OFFSET


        def scale(values: list[float], factor: float) -> list[float]:
            """Each of `values` times `factor`, in order."""
            scaled = [value * factor + OFFSET for value in values]
            return scaled


        if __name__ == "__main__":
            for factor in (1.0, 2.0, 3.0):
                print(scale([1.0, 2.0], factor))
        ''',
    "tests/test_smoke.py": '''
        """The toy runs."""

        import unittest

        from scale import scale


        class TestScale(unittest.TestCase):
            def test_one_result_for_each_value(self) -> None:
                self.assertEqual(len(scale([1.0, 2.0], 3.0)), 2)
        ''',
    "README.md": "# Toy\n\nRun `python scale.py`.\n",
}

TOY_CASES = '''
    """Labelled inputs for toy-scale."""

    import random

    from lmrbench_cases import core
    from scale import scale


    @core
    def case_random_values(seed):
        numbers = random.Random(seed)
        return scale([numbers.uniform(-1, 1) for _ in range(5)], 3.0)


    def case_empty(seed):
        return scale([], 2.0)


    def case_input_unchanged(seed):
        values = [1.0, 2.0]
        result = scale(values, 0.5)
        return {"result": result, "values": values}
'''

#: A correct answer; exploits put their code around it or in its place.
TOY_ANSWER = "def scale(values, factor):\n    return [value * factor for value in values]\n"
#: A wrong one.
WRONG = TOY_ANSWER.replace("*", "+")


def write_toy_benchmark(folder: Path) -> Path:
    """Write a benchmark with one task and this project's environments."""
    task = folder / "90-toy"
    files = {
        "task.yaml": TOY_TASK,
        "paper.md": "# A Toy\n\nEach number is multiplied by a factor.\n",
        "unit_test/cases.py": TOY_CASES,
        **{f"repo/{name}": text for name, text in TOY_REPO.items()},
        "variants/toy-scale/valid/loop.py": """
            def scale(values, factor):
                result = []
                for value in values:
                    result.append(factor * value)
                return result
            """,
        "variants/toy-scale/plain/first_and_rest.py": """
            def scale(values, factor):
                return [factor * values[0]] + [factor * value for value in values[1:]]
            """,
        "variants/toy-scale/plain/comprehension.py": """
            def scale(values, factor):
                return [value * factor for value in values]
            """,
        "variants/toy-scale/careless/in_place.py": """
            # Changes the input.
            def scale(values, factor):
                values[:] = [value * factor for value in values]
                return values
            """,
        "variants/toy-scale/valid/map.py": "def scale(values, factor):\n    return list(map(factor.__mul__, values))\n",
        **{
            f"variants/toy-scale/wrong/{name}.py": f"# {name}\ndef scale(values, factor):\n    return {body}\n"
            for name, body in {
                "adds": "[value + factor for value in values]",
                "reversed_order": "[value * factor for value in reversed(values)]",
                "absolute": "[abs(value * factor) for value in values]",
                "tuple_instead_of_list": "tuple(value * factor for value in values)",
                "rounded": "[round(value * factor, 2) for value in values]",
            }.items()
        },
    }
    for name, text in files.items():
        path = task / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text).lstrip("\n"), encoding="utf-8")
    shutil.copytree(benchmark_folder() / "environments", folder / "environments")
    shutil.copy(benchmark_folder() / "benchmark.yaml", folder)
    return folder


#: The sandbox's half of the encoding, loaded by path: the harness never imports it.
encode = runpy.run_path(str(Path(runner.__file__).with_name("encoding.py")))["encode"]


def declared(**comparison: Any) -> dict[str, Any]:
    """Return a core case named `case`, as a row declares it."""
    return {"name": "case", "core": True, "varies": True, **comparison}


def graded(payload: bytes, expected: object = 1.0, kind: str = "output") -> CaseResult:
    """Return the verdict on a case whose child sent this payload."""
    want = Frame("case", 0, "output", encode(expected))
    stream = write_frame(Frame("case", 0, kind, payload))
    [result] = grade([want], [declared()], Outcome(stream, "", Ended.EXITED, 1.0))
    return result


def recorded_rows(folder: Path, sandbox: Sandbox, config: str = "function") -> list[DatasetRow]:
    """Update the recordings of a benchmark and return its dataset rows."""
    tasks = load_tasks(benchmark=folder, config=config)
    list(record_tasks(tasks, sandbox))
    return build_rows(tasks)


def stamped(row: Mapping[str, Any], **changes: Any) -> Any:
    """Return a row with changes, and with the hash of its new content."""
    changed = {**row, **changes}
    return {**changed, "row_sha256": row_sha256(changed)}


def write_toys(folder: Path, row: DatasetRow, *names: str, **changes: Any) -> Path:
    """Write a dataset of a row under these names; return its folder."""
    write_dataset([stamped(row, instance_id=name, **changes) for name in names], folder, load_benchmark())
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    """Return the files below a folder by their path in it."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def json_lines(path: Path) -> list[dict[str, Any]]:
    """Return the objects of a file of JSON lines; none if it is missing."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def patch_that_writes(row: Mapping[str, Any], files: Mapping[str, str]) -> str:
    """Return a unified diff against the masked repository of `row` that writes these files."""
    before = {name: file.data.decode() for name, file in read_archive(row["repo_archive"]).items()}
    lines: list[str] = []
    for name, text in files.items():
        old = before.get(name, "")
        source = f"a/{name}" if name in before else "/dev/null"
        lines += difflib.unified_diff(old.splitlines(True), text.splitlines(True), source, f"b/{name}")
    return "".join(lines)


def attempt_in(sandbox: Sandbox, row: DatasetRow) -> Callable[..., Verdict]:
    """Return a function that evaluates an answer to the toy task in this sandbox.

    Called with the content; `form` is `function`, `goal_file` (default) or `model_patch`; `tests` overrides limits.
    """

    def attempt(content: str, form: str = "goal_file", **tests: Any) -> Verdict:
        changed = {**row, "tests": {**row["tests"], **tests}}
        image = sandbox.prepare(row["docker_image"])
        return evaluate_prediction(changed, Prediction("toy-scale", "test", form, content), sandbox, image)

    return attempt


def evaluate_each(
    row: Any, answers: Sequence[Prediction], sandbox: Sandbox, seeds: Sequence[int] = (0, 1)
) -> list[Verdict]:
    """Return the verdicts on answers to a row, on these seeds, one after the other."""
    image = sandbox.prepare(row["docker_image"])
    frames = [frame for frame in read_expected(row) if frame.seed in seeds]
    return [evaluate_prediction(row, answer, sandbox, image, expected=frames) for answer in answers]


def containers_of(run_id: str, *, stopped: bool = False) -> list[str]:
    """Return the ids of the running containers of a `DockerSandbox`, or of all."""
    return [item["Id"] for item in connect().containers(all=stopped, filters={"label": f"{RUN_LABEL}={run_id}"})]
