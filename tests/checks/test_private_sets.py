"""Private sets: altered papers drawn by a seed, which evaluate like published ones."""

import json
from pathlib import Path

import pytest

import lmrbench_data as lmr
from lmrbench_data.dataset.rows import DatasetRow
from lmrbench_data.loader import load_rows
from lmrbench_data.tasks.task_folders import load_tasks
from lmrbench_evaluate.checks.record import record_tasks
from lmrbench_evaluate.sandbox.base import Sandbox
from support.command_line import in_process
from support.toy_choices import add_toy_choices


@pytest.fixture
def benchmark(toy_benchmark: Path, local_sandbox: Sandbox) -> Path:
    add_toy_choices(toy_benchmark)
    for config in ("counterfactual", "underspecified"):
        list(record_tasks(load_tasks(benchmark=toy_benchmark, config=config), local_sandbox))
    return toy_benchmark


def drawn(config: str, benchmark: Path, out: Path, seed: int, per_paper: int = 2) -> list[DatasetRow]:
    options = ("--benchmark", str(benchmark), "--sandbox", "local", "--json")
    draw = ("--config", config, "--seed", str(seed), "--per-paper", str(per_paper))
    done = in_process("dataset", "private", out, *draw, *options)
    assert done.returncode == 0, done.stderr
    rows = load_rows(out, config)
    assert json.loads(done.stdout)["rows"] == len(rows)
    return rows


def options_of(row: DatasetRow) -> tuple[str, ...]:
    return tuple(choice["stated"] for choice in sorted(row["choices"], key=lambda choice: choice["name"]))


@pytest.mark.slow
@pytest.mark.parametrize("config", ["counterfactual", "underspecified"])
def test_a_seed_draws_combinations_that_were_never_published(config: str, benchmark: Path, tmp_path: Path) -> None:
    before = sorted(path.name for path in (benchmark / "90-toy" / "recorded").iterdir())
    rows, again = (drawn(config, benchmark, tmp_path / name, 7) for name in ("one", "two"))
    assert [row["row_sha256"] for row in rows] == [row["row_sha256"] for row in again]
    assert [row["instance_id"] for row in rows] == [f"toy-{config}-s7-{number}" for number in (1, 2)]
    published = {
        "counterfactual": {("size", "cauchy"), ("root", "linear")},
        "underspecified": {("root", "exponential")},
    }
    every = {options_of(row) for row in drawn(config, benchmark, tmp_path / "all", 7, 20)}
    assert every.isdisjoint(published[config])
    assert ("count", "exponential") not in every
    assert len(every) == {"counterfactual": 2, "underspecified": 7}[config]
    # Nothing is written beside the tasks, and `gold` passes like any answer.
    assert sorted(path.name for path in (benchmark / "90-toy" / "recorded").iterdir()) == before
    run = lmr.evaluate("gold", tmp_path / "run", dataset=str(tmp_path / "one"), config=config, sandbox="local")
    assert {row["status"] for row in run.results()} == {"passed"}
    assert {choice["reading"] for row in run.results() for choice in row["choices"]} == {"stated"}


def test_without_choices_there_is_nothing_to_draw(toy_benchmark: Path, tmp_path: Path) -> None:
    for config in ("counterfactual", "underspecified"):
        done = in_process(
            "dataset", "private", tmp_path / "x", "--config", config, "--seed", "1", "--benchmark", str(toy_benchmark)
        )
        assert done.returncode == 1
        assert f"error: no task has the configuration {config}, so there is nothing to draw" in done.stderr
