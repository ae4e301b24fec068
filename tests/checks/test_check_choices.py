"""Choices: other options make papers and references that differ from the published method, and are recognised."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from lmrbench_data.base.errors import InputError
from lmrbench_data.dataset.build import build_rows, write_dataset
from lmrbench_data.dataset.rows import DatasetRow, config_of, golden_files_of
from lmrbench_data.loader import COUNTERFACTUAL, METHOD, load_rows
from lmrbench_data.tasks.manifest import load_benchmark
from lmrbench_data.tasks.task_folders import load_tasks
from lmrbench_evaluate.checks.check import check_tasks
from lmrbench_evaluate.checks.record import record_tasks
from lmrbench_evaluate.predictions.prediction import Prediction
from lmrbench_evaluate.sandbox.base import Sandbox
from lmrbench_evaluate.verdict.evaluator import evaluate_prediction
from lmrbench_evaluate.verdict.verdict import Status
from support.toy_choices import CHOICES, STATED, add_toy_choices


@pytest.fixture
def benchmark(toy_benchmark: Path) -> Path:
    return add_toy_choices(toy_benchmark)


@pytest.fixture
def rows(benchmark: Path, local_sandbox: Sandbox) -> list[DatasetRow]:
    return built(benchmark, local_sandbox)


def built(benchmark: Path, sandbox: Sandbox, config: str = COUNTERFACTUAL) -> list[DatasetRow]:
    tasks = load_tasks(benchmark=benchmark, config=config)
    list(record_tasks(tasks, sandbox))
    return build_rows(tasks)


def errors(benchmark: Path, sandbox: Sandbox) -> dict[str, str]:
    tasks = load_tasks(benchmark=benchmark, config=COUNTERFACTUAL)
    list(record_tasks(tasks, sandbox))
    found = check_tasks(tasks, sandbox, resume=False)
    return {item.where: item.message for item in found if item.is_error}


def test_counterfactual_has_its_own_paper_and_reference(
    rows: list[DatasetRow], benchmark: Path, local_sandbox: Sandbox, tmp_path: Path
) -> None:
    [method] = built(benchmark, local_sandbox, METHOD)
    assert [row["instance_id"] for row in rows] == ["toy-counterfactual-1", "toy-counterfactual-2"]
    assert {row["repo_sha256"] for row in rows} == {method["repo_sha256"]}
    for row, options in zip(rows, (("cauchy", "size"), ("linear", "root")), strict=True):
        for choice, option in zip(("weights", "average"), options, strict=True):
            assert CHOICES[choice][f"{option}.md"] in row["paper_text"]
        assert (config_of(row), row["paper_title"]) == (COUNTERFACTUAL, "A Toy")
        assert (row["paper_url"], row["arxiv_id"], row["upstream_repo"]) == ("", "", "")
        assert "<!--" not in row["paper_text"] + method["paper_text"]
        assert row["expected"] != method["expected"]
    assert "e^{-x}" in method["paper_text"]
    assert "SLOPE = 0.3" in golden_files_of(rows[1])["window.py"]
    others = {METHOD: [method], COUNTERFACTUAL: rows}
    write_dataset(built(benchmark, local_sandbox, "function"), tmp_path / "data", load_benchmark(), others=others)
    assert load_rows(tmp_path / "data", COUNTERFACTUAL) == rows


def test_options_of_an_answer_are_recognised(rows: list[DatasetRow], local_sandbox: Sandbox) -> None:
    row, other = rows
    stated, altered = golden_files_of(row), golden_files_of(other)

    def reading(files: dict[str, str]) -> dict[str, tuple[str, str]]:
        answer = Prediction(row["instance_id"], "m", "files", json.dumps(files))
        verdict = evaluate_prediction(row, answer, local_sandbox, "")
        assert (verdict.status is Status.PASSED) is (files == stated)
        return {item["name"]: (item["option"], item["reading"]) for item in verdict.choices}

    assert reading(stated) == {"weights": ("cauchy", "stated"), "average": ("size", "stated")}
    assert reading(altered) == {"weights": ("linear", "other"), "average": ("root", "other")}
    weights = stated["window.py"].replace("1 / (1 + 3 * value**2)", "2.718281828459045**-value")
    mean = weights.replace("/ self.size", "/ len(values[-self.size :])")
    assert reading({**stated, "window.py": mean}) == {
        "weights": ("exponential", "published"),
        "average": ("count", "published"),
    }
    nothing = stated["window.py"].replace("return self.total(values) / self.size", "return 'no number'")
    assert reading({**stated, "window.py": nothing})["average"] == ("", "none")


def test_constant_option_is_recognised(benchmark: Path, local_sandbox: Sandbox) -> None:
    """A constant is recorded for the first seed only, on either side of the comparison."""
    _edit("choices/weights/linear.py", "[1 - SLOPE * value for value in values]", "[SLOPE] * len(values)")(
        benchmark / "90-toy"
    )
    assert not {place for place in errors(benchmark, local_sandbox) if place.startswith("choices/")}
    first, constant = built(benchmark, local_sandbox)
    for row, other in ((first, constant), (constant, first)):
        window = golden_files_of(other)["window.py"]
        answer = Prediction(row["instance_id"], "m", "files", json.dumps({**golden_files_of(row), "window.py": window}))
        found = evaluate_prediction(row, answer, local_sandbox, "").choices
        assert {item["name"]: item["reading"] for item in found} == {"weights": "other", "average": "other"}


def _edit(place: str, old: str, new: str) -> Any:
    def edit(folder: Path) -> None:
        path = folder / place
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))

    return edit


#: what is wrong → (edit, place of the finding, words in its message)
UNSOUND = {
    "equal_options": (
        _edit("choices/weights/linear.py", "1 - SLOPE * value", "1 / (1 + 10 * SLOPE * value**2)"),
        "choices/weights",
        "cauchy and linear give equal outputs",
    ),
    "a_case_that_sees_another_choice": (
        _edit("unit_test/method.py", "[Fixed(size).mean", "[Window(size).mean"),
        "choices/weights",
        "changes case_mean, which tests average",
    ),
    "a_constant_that_no_text_states": (
        _edit("choices/weights/linear.py", "0.3", "0.25"),
        "choices/weights/linear.md",
        "does not state the constant 0.25",
    ),
    "another_signature": (
        _edit("choices/weights/linear.py", "weigh(values)", "weigh(values, slope=1)"),
        "choices/weights/linear.py",
        "another signature",
    ),
    "no_case_of_its_own": (
        _edit("unit_test/method.py", '@goal("Window.mean")', '@goal("Window.mean", "scale")'),
        "choices/average",
        "no case tests its functions alone",
    ),
}


@pytest.mark.parametrize("name", UNSOUND)
def test_unsound_choice_is_reported(name: str, benchmark: Path, local_sandbox: Sandbox) -> None:
    edit, place, words = UNSOUND[name]
    edit(benchmark / "90-toy")
    found = errors(benchmark, local_sandbox)
    assert words in found[place], found


#: what is wrong in the folder → (edit, words of the error)
MALFORMED = {
    "an_open_region": (_edit("paper.md", "<!-- choice: average -->", ""), "a region is not closed"),
    "too_few_options": (lambda folder: (folder / "choices/weights/linear.py").unlink(), "give at least 2 options"),
    "another_function": (_edit("choices/weights/linear.py", "def weigh", "def weight"), "does not define weigh"),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_choice_is_one_error(name: str, benchmark: Path) -> None:
    edit, words = MALFORMED[name]
    edit(benchmark / "90-toy")
    with pytest.raises(InputError) as caught:
        load_tasks(benchmark=benchmark, config=COUNTERFACTUAL)
    assert words in str(caught.value)


def test_counterfactual_with_a_published_option_is_refused(toy_benchmark: Path) -> None:
    for chosen, words in (
        ({"weights": "exponential", "average": "size"}, "'exponential' is not an unpublished option"),
        ({"weights": "cauchy", "colour": "red"}, "the choice 'colour' is unknown"),
    ):
        add_toy_choices(toy_benchmark, counterfactual=[chosen])
        with pytest.raises(InputError, match=words):
            load_tasks(benchmark=toy_benchmark)
    shared = {**STATED, "again": {**STATED["weights"]}}
    add_toy_choices(toy_benchmark, choices=shared, counterfactual=[])
    folder = toy_benchmark / "90-toy"
    shutil.copytree(folder / "choices" / "weights", folder / "choices" / "again")
    with (folder / "paper.md").open("a") as file:
        file.write("\n<!-- choice: again -->\nAgain.\n<!-- /choice -->\n")
    with pytest.raises(InputError, match=r"weigh belongs to \w+ already"):
        load_tasks(benchmark=toy_benchmark)
