"""`dataset record` and `dataset check` on a method over two files, and answers to it in every form."""

import json
from pathlib import Path
from typing import Any

import pytest

from lmrbench_data.base.source import MalformedAnswerError
from lmrbench_data.dataset.rows import DatasetRow, goals_of, golden_files_of
from lmrbench_data.loader import METHOD
from lmrbench_evaluate.predictions.prediction import Prediction
from lmrbench_evaluate.rebuild.workspace import rebuild
from lmrbench_evaluate.sandbox.base import Sandbox
from lmrbench_evaluate.verdict.evaluator import evaluate_prediction
from lmrbench_evaluate.verdict.verdict import Status
from support.toy import patch_that_writes
from support.toy_check import errors
from support.toy_method import METHOD_ANSWER, METHOD_YAML, WINDOW, add_toy_method, method_reply


@pytest.fixture
def benchmark(toy_benchmark: Path) -> Path:
    return add_toy_method(toy_benchmark)


def answer(row: DatasetRow, form: str, content: Any) -> Prediction:
    text = content if isinstance(content, str) else json.dumps(content)
    return Prediction(row["instance_id"], "model", form, text)


def test_unsound_variants_of_a_method_are_reported(benchmark: Path, local_sandbox: Sandbox) -> None:
    assert errors(benchmark, local_sandbox, METHOD) == {}
    folder = benchmark / "90-toy" / "variants" / "toy-method"
    (folder / "wrong" / "sign" / "window.py").write_text(
        "# Right.\nimport math\n\ndef weigh(values):\n    return [math.exp(-v) for v in values]\n"
    )
    (folder / "valid" / "fsum" / "window.py").write_text(
        "class Window:\n    def total(self, values):\n        return 0.0\n"
    )
    found = errors(benchmark, local_sandbox, METHOD)
    assert found.keys() == {"wrong/sign", "valid/fsum"}
    assert "must fail a core case, but passes" in found["wrong/sign"]


def test_row_of_a_method_has_all_goals(method_row: DatasetRow) -> None:
    assert goals_of(method_row) == METHOD_YAML["goals"]
    assert golden_files_of(method_row)["window.py"] == WINDOW.lstrip()
    assert not {"goal_file", "goal_function", "golden_file", "contract"} & method_row.keys()
    assert {case["name"]: case["goals"] for case in method_row["tests"]["cases"]} == {
        "weigh": ["weigh"],
        "total": ["Window.total"],
        "mean": ["Window.mean"],
        "series": [],
    }
    assert all(case["core"] for case in method_row["tests"]["cases"])


def test_reference_passes_in_every_form(method_row: DatasetRow, local_sandbox: Sandbox) -> None:
    golden = golden_files_of(method_row)
    functions = dict(METHOD_ANSWER)
    answers = {
        "files": golden,
        "model_patch": patch_that_writes(method_row, golden),
        "function": method_reply(functions),
    }
    verdicts = {
        form: evaluate_prediction(method_row, answer(method_row, form, content), local_sandbox, "")
        for form, content in answers.items()
    }
    assert {form: verdict.status for form, verdict in verdicts.items()} == dict.fromkeys(answers, Status.PASSED)
    del functions["window.py::weigh"]
    partial = answer(method_row, "function", method_reply(functions))
    verdict = evaluate_prediction(method_row, partial, local_sandbox, "")
    assert verdict.core_status is Status.ERROR  # a function that is not there raises NotImplementedError
    found = {item["name"]: item["status"] for item in verdict.functions(method_row["tests"]["cases"])}
    assert found == {"Window.mean": "error", "Window.total": "error", "weigh": "error"}


#: form, content → what the message names
UNUSABLE = {
    "an_outside_path": ("files", {"../x.py": ""}, "not a plain path"),
    "a_file_as_a_folder": ("files", {"window.py/x.py": ""}, "'window.py' is both a file and a folder"),
    "an_absolute_path": ("files", {"/x.py": ""}, "not plain"),
    "many_files": ("files", {f"{number}.txt": "" for number in range(501)}, "adds more than 500 files"),
    "a_goal_file": ("goal_file", "def scale(values, factor): ...", "a method has several goal files; use `files`"),
    "no_function": ("function", "I cannot.\n```python\nx = 1\n```", "no definition of any of the masked functions"),
}


@pytest.mark.parametrize("name", UNUSABLE)
def test_unusable_answer_is_malformed(name: str, method_row: DatasetRow) -> None:
    form, content, words = UNUSABLE[name]
    with pytest.raises(MalformedAnswerError) as caught:
        rebuild(method_row, answer(method_row, form, content))
    assert words in str(caught.value)
