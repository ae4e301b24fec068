"""Reports on altered papers: which choices an answer read, recited or settled, in every form of a report."""

from pathlib import Path

import pytest

import lmrbench_data as lmr
from lmrbench_data.base.shares import Share
from lmrbench_data.dataset.build import build_rows, write_dataset
from lmrbench_data.dataset.rows import DatasetRow, golden_files_of
from lmrbench_data.loader import COUNTERFACTUAL, UNDERSPECIFIED
from lmrbench_data.tasks.manifest import load_benchmark
from lmrbench_data.tasks.task_folders import load_tasks
from lmrbench_evaluate.checks.record import record_tasks
from lmrbench_evaluate.sandbox.base import Sandbox
from support.command_line import in_process
from support.toy_choices import add_toy_choices

#: model → what it puts in place of the first row's code
EDITS = {
    "reader": ("", ""),
    "reciter": ("1 / (1 + 3 * value**2)", "2.718281828459045**-value"),
    "talker": None,
}


def evaluated(config: str, benchmark: Path, sandbox: Sandbox, edits: dict[str, tuple[str, str] | None]) -> lmr.Run:
    """Evaluate an answer of each model to the toy's first row of a configuration."""
    add_toy_choices(benchmark)
    tasks = load_tasks(benchmark=benchmark, config=config)
    list(record_tasks(tasks, sandbox))
    rows: list[DatasetRow] = build_rows(tasks)[:1]
    folder = benchmark.parent
    write_dataset([], folder / "data", load_benchmark(benchmark), others={config: rows})
    files = golden_files_of(rows[0])
    answers = []
    for model, edit in edits.items():
        text = files["window.py"].replace(*edit) if edit else "Sorry."
        answer = {"instance_id": rows[0]["instance_id"], "model_name_or_path": model, "track": "paper"}
        answers.append({**answer, "files": {**files, "window.py": text}})
    return lmr.evaluate(answers, folder / "run", dataset=str(folder / "data"), config=config, sandbox="local")


def test_a_counterfactual_is_read_or_recited(toy_benchmark: Path, local_sandbox: Sandbox) -> None:
    run = evaluated(COUNTERFACTUAL, toy_benchmark, local_sandbox, EDITS)
    frame = run.to_pandas().set_index("model_name_or_path")
    assert dict(frame["choices_read"]) == {"reader": 1.0, "reciter": 0.5, "talker": 0.0}
    assert frame["choices_settled"].isna().all()
    report = run.report()
    text = report.to_markdown()
    assert "reciter: read 50.0 %, recited 50.0 %, neither 0.0 % of the altered choices." in text
    # An answer that cannot be read implements none of the options.
    assert "talker: read 0.0 %, recited 0.0 %, neither 100.0 % of the altered choices." in text
    assert f"| reader | 100.0 % (2/2) | {Share(2, 2, 1).bounds} |" in text
    shown = in_process("show", str(run.path), "toy-counterfactual-1", "--model", "reciter").stdout
    assert "1 of 2 as in the paper or its tables" in shown
    assert "exponential (published)" in shown
    assert "<li><code>weights</code>: exponential (published)</li>" in report.to_html()


def test_open_choices_are_settled_and_corrected_for_chance(toy_benchmark: Path, local_sandbox: Sandbox) -> None:
    edits = {"settler": ("", ""), "guesser": ("** 0.5", "** 1"), "talker": None}
    run = evaluated(UNDERSPECIFIED, toy_benchmark, local_sandbox, edits)
    frame = run.to_pandas().set_index("model_name_or_path")
    assert dict(frame["choices_settled"]) == {"settler": 1.0, "guesser": 0.5, "talker": 0.0}
    report = run.report()
    text = report.to_markdown()
    assert "guesser: settled 50.0 % of the open choices; guessing settles 33.3 %." in text
    assert f"| guesser | 50.0 % (1/2) | {Share(1, 2, 1).bounds} | 33.3 % | 0.25 |" in text
    settled = {score["model_name_or_path"]: score["settled"] for score in report.to_dict()["scores"]}
    assert (settled["settler"]["corrected"], settled["talker"]["corrected"]) == (1.0, pytest.approx(-0.5))
    assert "recited" not in text
