"""Private sets: altered papers drawn by a seed, which evaluate like published ones."""

import json
from pathlib import Path
from typing import Any

import pytest

import lmrbench as lmr
from lmrbench.checks import private_sets
from lmrbench.checks.record import record_tasks
from lmrbench_data.base.errors import InfraError
from lmrbench_data.dataset.rows import DatasetRow
from lmrbench_data.loader import load_rows
from lmrbench_data.tasks import method_file
from lmrbench_data.tasks.task import Altered, Task
from lmrbench_data.tasks.task_folders import load_tasks
from lmrbench_evaluate.sandbox.base import Sandbox
from support.command_line import Done, in_process
from support.toy_choices import MIXED, SILENT, UNDERSPECIFIED, add_toy_choices


@pytest.fixture
def benchmark(toy_benchmark: Path, local_sandbox: Sandbox) -> Path:
    add_toy_choices(toy_benchmark)
    for config in ("counterfactual", "underspecified"):
        list(record_tasks(load_tasks(benchmark=toy_benchmark, config=config), local_sandbox))
    return toy_benchmark


def private(out: Path, config: str, benchmark: Path, *more: object) -> Done:
    options = ("--config", config, "--seed", "7", "--benchmark", benchmark, "--sandbox", "local")
    return in_process("dataset", "private", out, *options, *map(str, more))


def drawn(config: str, benchmark: Path, out: Path, per_paper: int, *more: str) -> list[DatasetRow]:
    done = private(out, config, benchmark, "--per-paper", per_paper, "--json", *more)
    assert done.returncode == 0, done.stderr
    rows = load_rows(out, config)
    assert json.loads(done.stdout)["rows"] == len(rows)
    return rows


def options_of(row: DatasetRow) -> tuple[str, ...]:
    return tuple(choice["stated"] for choice in sorted(row["choices"], key=lambda choice: choice["name"]))


@pytest.mark.slow
@pytest.mark.parametrize(("config", "most"), [("counterfactual", 20), ("underspecified", 4)])
def test_a_seed_draws_combinations_that_were_never_published(
    config: str, most: int, benchmark: Path, tmp_path: Path
) -> None:
    before = sorted(path.name for path in (benchmark / "90-toy" / "recorded").iterdir())
    [row] = drawn(config, benchmark, tmp_path / "one", 1)
    published = {
        "counterfactual": {("size", "cauchy"), ("root", "linear")},
        "underspecified": {("root", "exponential")},
    }
    again = drawn(config, benchmark, tmp_path / "all", most)
    assert again[0] == row
    assert [row["instance_id"] for row in again[:2]] == [f"toy-{config}-s7-{number}" for number in (1, 2)]
    every = {options_of(row) for row in again}
    assert every.isdisjoint(published[config])
    assert ("count", "exponential") not in every
    assert len(every) == {"counterfactual": 2, "underspecified": most}[config]  # two are left of the first
    # Nothing is written beside the tasks, and `gold` passes like any answer.
    assert sorted(path.name for path in (benchmark / "90-toy" / "recorded").iterdir()) == before
    run = lmr.evaluate("gold", tmp_path / "run", dataset=str(tmp_path / "one"), config=config, sandbox="local")
    assert {row["status"] for row in run.results()} == {"passed"}
    assert {choice["reading"] for row in run.results() for choice in row["choices"]} == {"stated"}


@pytest.mark.slow
def test_a_private_silent_row_departs_twice_and_states_the_published_paper(
    toy_benchmark: Path, tmp_path: Path, local_sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(method_file, "HARD_CHOICES", (2, 6))  # the toy has two choices
    silent = {**UNDERSPECIFIED, **SILENT}
    add_toy_choices(toy_benchmark, underspecified=[UNDERSPECIFIED, silent])
    (toy_benchmark / "90-toy" / "own.py").write_text(MIXED)
    [task] = load_tasks(benchmark=toy_benchmark, config="underspecified")
    list(record_tasks([task], local_sandbox))
    rows = drawn("underspecified", toy_benchmark, tmp_path / "out", 9, "--difficulty", "silent")
    assert {options_of(row) for row in rows} == {("root", "linear"), ("size", "cauchy"), ("size", "linear")}
    assert {row["difficulty"] for row in rows} == {"silent"}
    assert {row["paper_text"].partition("\n## Reported")[0] for row in rows} == {task.paper_text}


@pytest.mark.slow
def test_a_stopped_private_set_keeps_its_rows_and_resumes(
    benchmark: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    original = private_sets._row

    def record_two(task: Task, item: Altered, *rest: Any) -> DatasetRow | None:
        made.append(item.instance_id)
        if len(made) == 2:
            raise InfraError("the engine is gone")
        return original(task, item, *rest)

    monkeypatch.setattr(private_sets, "_row", record_two)
    command = (tmp_path / "out", "underspecified", benchmark, "toy-method", "--per-paper", 2)
    stopped = private(*command)
    assert (stopped.returncode, stopped.stderr.splitlines()[-1]) == (3, "error: the engine is gone")
    [kept] = load_rows(tmp_path / "out", "underspecified")
    monkeypatch.setattr(private_sets, "_row", original)
    assert private(*command).returncode == 0
    assert load_rows(tmp_path / "out", "underspecified")[:-1] == [kept]
    # Nothing is recorded again.
    monkeypatch.setattr(private_sets, "_row", None)
    assert private(*command).returncode == 0
    (tmp_path / "notes" / "mine.txt").parent.mkdir()
    (tmp_path / "notes" / "mine.txt").touch()
    refused = private(tmp_path / "notes", "underspecified", benchmark)
    assert "contains other files (mine.txt); use an empty folder" in refused.stderr


def test_a_draw_without_rows_is_one_error_and_a_short_one_a_warning(
    benchmark: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An empty dataset was written as if it were what the user asked for."""
    short = private(tmp_path / "short", "counterfactual", benchmark, "--per-paper", 20)
    assert short.returncode == 0
    assert "warning: 2 of 20 rows: some papers have no other combination that gives a row" in short.stderr
    monkeypatch.setattr(private_sets, "_row", lambda *_: None)
    empty = private(tmp_path / "empty", "counterfactual", benchmark)
    assert empty.returncode == 1
    assert empty.stderr.splitlines()[-1].startswith("error: no row can be drawn: the combinations that are left are")
    assert not (tmp_path / "empty").exists()


def test_without_rows_of_the_configuration_or_difficulty_there_is_nothing_to_draw(
    toy_benchmark: Path, tmp_path: Path
) -> None:
    def error_of(config: str, *more: str) -> str:
        done = private(tmp_path / "x", config, toy_benchmark, *more)
        assert done.returncode != 0
        return done.stderr

    for config in ("counterfactual", "underspecified"):
        assert f"error: no task has such rows of {config}, so there is nothing to draw" in error_of(config)
    add_toy_choices(toy_benchmark)
    assert "no task has such rows of underspecified" in error_of("underspecified", "--difficulty", "hard")
    unknown = error_of("underspecified", "--difficulty", "medium")
    assert "'medium' is not one of 'easy', 'hard', 'silent', 'all'" in unknown
