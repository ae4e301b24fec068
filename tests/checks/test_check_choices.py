"""Choices: papers that state other options, or leave options open and let a table decide; both are recognised."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lmrbench.checks.choices import option_problems
from lmrbench_data.base.errors import InputError
from lmrbench_data.dataset.build import write_dataset
from lmrbench_data.dataset.rows import DatasetRow, config_of, content_sha256, golden_files_of
from lmrbench_data.loader import COUNTERFACTUAL, METHOD, UNDERSPECIFIED, load_rows, read_archive, write_files
from lmrbench_data.tasks import method_file
from lmrbench_data.tasks.manifest import load_benchmark
from lmrbench_data.tasks.task_folders import load_tasks
from lmrbench_evaluate.predictions.prediction import Prediction
from lmrbench_evaluate.sandbox.base import Sandbox
from lmrbench_evaluate.verdict.evaluator import evaluate_prediction
from lmrbench_evaluate.verdict.verdict import Status, Verdict
from support.toy import recorded_rows
from support.toy_check import TASK, edit, errors
from support.toy_choices import CHOICES, MIXED, SILENT, STATED, add_toy_choices
from support.toy_choices import UNDERSPECIFIED as UNDERSPECIFIED_ROW
from support.toy_method import METHOD_YAML


@pytest.fixture
def benchmark(toy_benchmark: Path) -> Path:
    return add_toy_choices(toy_benchmark)


@pytest.fixture
def rows(benchmark: Path, local_sandbox: Sandbox) -> list[DatasetRow]:
    return recorded_rows(benchmark, local_sandbox, COUNTERFACTUAL)


def verdict_on(row: DatasetRow, files: dict[str, str], sandbox: Sandbox) -> Verdict:
    return evaluate_prediction(row, Prediction(row["instance_id"], "m", "files", json.dumps(files)), sandbox, "")


def readings(verdict: Verdict) -> dict[str, str]:
    return {item["name"]: item["reading"] for item in verdict.choices}


def test_counterfactual_has_its_own_paper_and_reference(
    rows: list[DatasetRow], benchmark: Path, local_sandbox: Sandbox, tmp_path: Path
) -> None:
    [method] = recorded_rows(benchmark, local_sandbox, METHOD)
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
    every = [*recorded_rows(benchmark, local_sandbox), method, *rows]
    write_dataset(every, tmp_path / "data", load_benchmark())
    assert load_rows(tmp_path / "data", COUNTERFACTUAL) == rows


def test_options_of_an_answer_are_recognised(rows: list[DatasetRow], local_sandbox: Sandbox) -> None:
    row, other = rows
    stated, altered = golden_files_of(row), golden_files_of(other)

    def reading(files: dict[str, str]) -> dict[str, tuple[str, str]]:
        verdict = verdict_on(row, files, local_sandbox)
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
    edit(benchmark, "choices/weights/linear.py", "[1 - SLOPE * value for value in values]", "[SLOPE] * len(values)")
    assert not {place for place in errors(benchmark, local_sandbox, COUNTERFACTUAL) if place.startswith("choices/")}
    first, constant = recorded_rows(benchmark, local_sandbox, COUNTERFACTUAL)
    for row, other in ((first, constant), (constant, first)):
        files = {**golden_files_of(row), "window.py": golden_files_of(other)["window.py"]}
        assert readings(verdict_on(row, files, local_sandbox)) == {"weights": "other", "average": "other"}


#: what is wrong → (file, text, its replacement; place of the finding, words in its message)
UNSOUND = {
    "equal_options": (
        ("choices/weights/linear.py", "1 - SLOPE * value", "1 / (1 + 10 * SLOPE * value**2)"),
        ("choices/weights", "cauchy and linear give equal outputs"),
    ),
    "a_case_that_sees_another_choice": (
        ("unit_test/method.py", "[Fixed(size).mean", "[Window(size).mean"),
        ("choices/weights", "changes case_mean, which tests average"),
    ),
    "a_constant_that_no_text_states": (
        ("choices/weights/linear.py", "0.3", "0.25"),
        ("choices/weights/linear.md", "does not state the constant 0.25"),
    ),
    "another_signature": (
        ("choices/weights/linear.py", "weigh(values)", "weigh(values, slope=1)"),
        ("choices/weights/linear.py", "another signature"),
    ),
    "no_case_of_its_own": (
        ("unit_test/method.py", '@goal("Window.mean")', '@goal("Window.mean", "scale")'),
        ("choices/average", "no case tests its functions alone"),
    ),
    "a_choice_that_no_cell_shows": (
        ("experiments.py", "Window(size).mean(values)", "Window(size).total(values)"),
        ("tables, combinations", "average="),
    ),
    "a_cell_that_squares_away_a_sign": (
        ("experiments.py", "Window(size).mean(values)", "Window(size).mean(values) ** 2"),
        ("tables, outsiders", "average negated"),
    ),
    "a_clock": (
        ("experiments.py", "mean(values)", "mean(values) + __import__('time').time() % 1"),
        ("tables, repeated", "differ"),
    ),
}


@pytest.mark.parametrize("name", UNSOUND)
def test_unsound_choice_or_table_is_reported(name: str, benchmark: Path, local_sandbox: Sandbox) -> None:
    change, (place, words) = UNSOUND[name]
    edit(benchmark, *change)
    if place.startswith("choices/weights/"):  # found by reading alone
        [task] = load_tasks(benchmark=benchmark, config=COUNTERFACTUAL)
        found = {problem.where: problem.message for problem in option_problems(task)}
    else:
        found = errors(benchmark, local_sandbox, UNDERSPECIFIED if place.startswith("tables") else COUNTERFACTUAL)
    assert words in found[place], found


def _open(**changes: object) -> dict[str, object]:
    return {"underspecified": [{**UNDERSPECIFIED_ROW, **changes}]}


#: what is wrong → (keys of method.yaml, words of the error)
MALFORMED: dict[str, tuple[dict[str, object], str]] = {
    "a_name": (
        {"instance_id": "toy"},
        "instance_id: 'toy' is not a name of lower-case letters, digits and hyphens that ends with -method",
    ),
    "a_missing_function": ({"goals": {**METHOD_YAML["goals"], "scale.py": ["gone"]}}, "scale.py: no function 'gone'"),
    "a_goal_that_is_removed": (
        {"remove": {"window.py": ["Window"]}},
        "remove: 'Window' is or contains a goal function",
    ),
    "a_published_option": (
        {"counterfactual": [{"weights": "exponential", "average": "size"}]},
        "weights: 'exponential' is not an unpublished option; known: cauchy, linear",
    ),
    "an_unknown_choice": (
        {"counterfactual": [{"weights": "cauchy", "colour": "red"}]},
        "counterfactual[0]: the choice 'colour' is unknown; known: ",
    ),
    "open_and_unknown": (_open(open=["weights", "colour"]), "underspecified[0].open: the choice 'colour' is unknown"),
    "open_and_published": (_open(options={"average": "count"}), "'count' is not an unpublished option"),
    "no_such_table": (_open(tables=["curve"]), "no function table_curve"),
    "hard_with_two_choices": (_open(difficulty="hard"), "underspecified[0].open: a hard item opens 4 to 6 choices"),
    "silent_with_two_choices": (_open(difficulty="silent"), "a silent item opens 4 to 6 choices"),
    "unfit_and_unknown": (
        _open(difficulty="hard", unfit={"colour": "a free constant"}),
        "underspecified[0].unfit: the choice 'colour' is unknown; known: average, weights",
    ),
    "no_budget": (_open(cpu_budget_s=0), "cpu_budget_s"),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_method_yaml_is_one_error(name: str, toy_benchmark: Path) -> None:
    changes, words = MALFORMED[name]
    with pytest.raises(InputError) as caught:
        load_tasks(benchmark=add_toy_choices(toy_benchmark, **changes), config=METHOD)
    message = str(caught.value)
    assert str(toy_benchmark / TASK / "method.yaml") in message
    assert words in message
    assert "\n" not in message


def test_choice_with_malformed_files_is_one_error(toy_benchmark: Path, local_sandbox: Sandbox) -> None:
    def refused(words: str) -> None:
        with pytest.raises(InputError, match=words):
            recorded_rows(toy_benchmark, local_sandbox, UNDERSPECIFIED)
        add_toy_choices(toy_benchmark)

    for place, old, new, words in (
        ("paper.md", "<!-- choice: average -->", "", "a region is not closed"),
        ("choices/weights/linear.py", "def weigh", "def weight", "choices/weights/linear.py: no definition of 'weigh'"),
        (
            "experiments.py",
            "return {f",
            "return {'x': {'y': float('nan')}} or {f",
            "table_series: a cell is not finite",
        ),
    ):
        edit(add_toy_choices(toy_benchmark), place, old, new)
        refused(words)
    folder = toy_benchmark / TASK / "choices"
    (folder / "weights" / "linear.py").unlink()
    refused("add at least 2 options")
    add_toy_choices(toy_benchmark, choices={**STATED, "again": {**STATED["weights"]}}, counterfactual=[])
    shutil.copytree(folder / "weights", folder / "again")
    with (toy_benchmark / TASK / "paper.md").open("a") as file:
        file.write("\n<!-- choice: again -->\nAgain.\n<!-- /choice -->\n")
    refused(r"weigh already belongs to \w+")


def python(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], cwd=folder, capture_output=True, text=True, timeout=60)


def test_underspecified_row_shows_the_table_and_hides_the_options(
    benchmark: Path, local_sandbox: Sandbox, tmp_path: Path
) -> None:
    [row] = recorded_rows(benchmark, local_sandbox, UNDERSPECIFIED)
    [method] = recorded_rows(benchmark, local_sandbox, METHOD)
    repo = read_archive(row["repo_archive"])
    beyond = {"experiments.py", "print_table.py"}
    assert {name: file for name, file in repo.items() if name not in beyond} == read_archive(method["repo_archive"])
    paper = row["paper_text"]
    for choice, texts in CHOICES.items():
        assert texts["open.md"] in paper
        assert f"- {texts['question.md']}" in row["instruction"]
        assert not any(text in paper for name, text in texts.items() if name not in ("open.md", "question.md")), choice
    assert "20 seconds of CPU time" in row["instruction"]
    assert (config_of(row), row["paper_url"]) == (UNDERSPECIFIED, "")
    assert (row["cpu_budget_s"], row["difficulty"]) == (20, "easy")
    # The command in the paper prints the paper's table, with the true options and no others.
    for files, is_true in ((golden_files_of(row), True), (golden_files_of(method), False)):
        folder = tmp_path / str(is_true)
        write_files(repo, folder)
        for name, text in files.items():
            (folder / name).write_text(text)
        printed = python(folder, "print_table.py", "series").stdout
        assert printed.startswith("|  | mean |\n| --- | --- |\n| 2 | ")
        assert (printed in paper) is is_true
    assert "usage: python print_table.py series" in python(folder, "print_table.py").stderr
    write_dataset([row], tmp_path / "data", load_benchmark(benchmark))
    assert load_rows(tmp_path / "data", UNDERSPECIFIED) == [row]
    # The options that an answer settles are read off its outputs.
    golden = golden_files_of(row)
    published = {**golden, "window.py": golden["window.py"].replace("** 0.5", "")}
    for answer, average in ((golden, "stated"), (published, "published")):
        verdict = verdict_on(row, answer, local_sandbox)
        assert readings(verdict) == {"weights": "stated", "average": average}
        assert all(item["open"] and not item["altered"] for item in verdict.choices)
        assert (verdict.status is Status.PASSED) is (answer == golden)


#: Replaces `return x` so that a last bit decides.
CHAOS = "for _ in range(100):\n        x = 3.9 * (x % 1) * (1 - x % 1)\n    return x"


def test_silent_departures_stand_in_the_table_and_not_in_the_paper(
    toy_benchmark: Path, local_sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The paper states the published options; only the numbers tell that the implementation took others."""
    monkeypatch.setattr(method_file, "HARD_CHOICES", (2, 6))  # the toy has two choices

    def add(**changes: object) -> None:
        add_toy_choices(toy_benchmark, **_open(**{**SILENT, **changes}))
        (toy_benchmark / TASK / "own.py").write_text(MIXED)

    add(options={"weights": "cauchy"})
    with pytest.raises(InputError, match="a silent item has at least 2 departures"):
        load_tasks(benchmark=toy_benchmark)
    add()
    assert errors(toy_benchmark, local_sandbox, UNDERSPECIFIED) == {}
    [row] = recorded_rows(toy_benchmark, local_sandbox, UNDERSPECIFIED)
    [method] = recorded_rows(toy_benchmark, local_sandbox, METHOD)
    paper, _, results = row["paper_text"].partition("\n## Reported results\n")
    assert (paper, row["difficulty"], "| 5 | " in results) == (method["paper_text"], "silent", True)
    assert "in 2 to 2 places" in row["instruction"]
    assert "`python print_table.py outcome`" in row["instruction"]
    assert "20\nseconds of CPU time" in row["instruction"]
    assert not any(CHOICES[name]["question.md"].strip() in row["instruction"] for name in CHOICES)
    assert read_archive(row["repo_archive"])["experiments.py"].data.decode() == MIXED
    assert {choice["name"]: choice["stated"] for choice in row["choices"]} == SILENT["options"]
    assert content_sha256(row) != content_sha256({**row, "difficulty": "hard"})
    for files, reading in ((golden_files_of(row), "stated"), (golden_files_of(method), "published")):
        verdict = verdict_on(row, files, local_sandbox)
        assert readings(verdict) == dict.fromkeys(SILENT["options"], reading)
        assert (verdict.status is Status.PASSED) is (reading == "stated")
        assert all(item["open"] and not item["altered"] for item in verdict.choices)
    edit(toy_benchmark, "own.py", "return x", CHAOS)
    found = errors(toy_benchmark, local_sandbox, UNDERSPECIFIED)
    assert "choose experiments that are not chaotic" in found["tables, last bit"]
