"""Underspecified papers: a table decides what the text leaves open, and nothing else does."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from lmrbench_data.base.errors import InputError
from lmrbench_data.dataset.build import build_rows, write_dataset
from lmrbench_data.dataset.rows import DatasetRow, config_of, golden_files_of
from lmrbench_data.loader import METHOD, UNDERSPECIFIED, load_rows, read_archive, write_files
from lmrbench_data.tasks.manifest import load_benchmark
from lmrbench_data.tasks.task_folders import load_tasks
from lmrbench_evaluate.checks.check import check_tasks
from lmrbench_evaluate.checks.record import record_tasks
from lmrbench_evaluate.predictions.prediction import Prediction
from lmrbench_evaluate.sandbox.base import Sandbox
from lmrbench_evaluate.verdict.evaluator import evaluate_prediction
from lmrbench_evaluate.verdict.verdict import Status
from support.toy_choices import CHOICES, add_toy_choices
from support.toy_choices import UNDERSPECIFIED as UNDERSPECIFIED_ROW


@pytest.fixture
def benchmark(toy_benchmark: Path) -> Path:
    return add_toy_choices(toy_benchmark)


def built(benchmark: Path, sandbox: Sandbox, config: str = UNDERSPECIFIED) -> list[DatasetRow]:
    tasks = load_tasks(benchmark=benchmark, config=config)
    list(record_tasks(tasks, sandbox))
    return build_rows(tasks)


def errors(benchmark: Path, sandbox: Sandbox) -> dict[str, str]:
    tasks = load_tasks(benchmark=benchmark, config=UNDERSPECIFIED)
    list(record_tasks(tasks, sandbox))
    found = list(check_tasks(tasks, sandbox, resume=False))
    assert sum(item.where.startswith("tables, ") for item in found) == 4
    return {item.where: item.message for item in found if item.is_error}


def test_row_shows_the_table_and_hides_the_options(benchmark: Path, local_sandbox: Sandbox, tmp_path: Path) -> None:
    [row] = built(benchmark, local_sandbox)
    [method] = built(benchmark, local_sandbox, METHOD)
    repo = read_archive(row["repo_archive"])
    beyond = {"experiments.py", "print_table.py"}
    assert {name: file for name, file in repo.items() if name not in beyond} == read_archive(method["repo_archive"])
    paper = row["paper_text"]
    for choice, texts in CHOICES.items():
        assert texts["open.md"] in paper
        assert f"- {texts['question.md']}" in row["instruction"]
        assert not any(text in paper for name, text in texts.items() if name not in ("open.md", "question.md")), choice
    assert "20 seconds of CPU time" in row["instruction"]
    assert (config_of(row), row["paper_url"], row["cpu_budget_s"]) == (UNDERSPECIFIED, "", 20)
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
    write_dataset([], tmp_path / "data", load_benchmark(benchmark), others={UNDERSPECIFIED: [row]})
    assert load_rows(tmp_path / "data", UNDERSPECIFIED) == [row]


def test_settled_choices_of_an_answer_are_recognised(benchmark: Path, local_sandbox: Sandbox) -> None:
    [row] = built(benchmark, local_sandbox)
    files = golden_files_of(row)
    wrong = files["window.py"].replace("** 0.5", "")
    for text, average in ((files["window.py"], "stated"), (wrong, "published")):
        readings = {"weights": "stated", "average": average}
        answer = Prediction(row["instance_id"], "m", "files", json.dumps({**files, "window.py": text}))
        verdict = evaluate_prediction(row, answer, local_sandbox, "")
        assert {item["name"]: item["reading"] for item in verdict.choices} == readings
        assert all(item["open"] and not item["altered"] for item in verdict.choices)
        assert (verdict.status is Status.PASSED) is (text == files["window.py"])


def python(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], cwd=folder, capture_output=True, text=True, timeout=60)


def test_table_with_other_digits_is_recorded_again(benchmark: Path, local_sandbox: Sandbox) -> None:
    """Recording does not keep a table that the check calls outdated."""
    built(benchmark, local_sandbox)
    edited("mean(values)}", "mean(values) + 0.0005}")(benchmark / "90-toy")
    assert errors(benchmark, local_sandbox) == {}


def edited(old: str, new: str) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        path = folder / "experiments.py"
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new))

    return edit


#: what is wrong → (edit, proof that fails, words of the error)
UNSOUND = {
    "a_choice_that_no_cell_shows": (
        edited("Window(size).mean(values)", "Window(size).total(values)"),
        "tables, combinations",
        "average=",
    ),
    "a_cell_that_squares_away_a_sign": (
        edited("Window(size).mean(values)", "Window(size).mean(values) ** 2"),
        "tables, outsiders",
        "average negated",
    ),
    "a_clock": (edited("mean(values)", "mean(values) + __import__('time').time() % 1"), "tables, repeated", "differ"),
}


@pytest.mark.parametrize("name", UNSOUND)
def test_undecided_table_is_reported(name: str, benchmark: Path, local_sandbox: Sandbox) -> None:
    edit, place, words = UNSOUND[name]
    edit(benchmark / "90-toy")
    found = errors(benchmark, local_sandbox)
    assert words in found[place], found


def test_malformed_row_is_one_error(toy_benchmark: Path, local_sandbox: Sandbox) -> None:
    for change, words in (
        ({"open": ["weights", "colour"]}, r"underspecified\[0\].open: the choice 'colour' is unknown"),
        ({"options": {"average": "count"}}, "'count' is not an unpublished option"),
        ({"tables": ["curve"]}, "no function table_curve"),
        ({"cpu_budget_s": 0}, "cpu_budget_s"),
    ):
        add_toy_choices(toy_benchmark, underspecified=[{**UNDERSPECIFIED_ROW, **change}])
        with pytest.raises(InputError, match=words):
            load_tasks(benchmark=toy_benchmark)
    add_toy_choices(toy_benchmark)
    edited("return {f", "return {'x': {'y': float('nan')}} or {f")(toy_benchmark / "90-toy")
    with pytest.raises(InputError, match="table_series: a cell is not finite"):
        built(toy_benchmark, local_sandbox)
