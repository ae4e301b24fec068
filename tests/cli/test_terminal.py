"""A terminal shows colours, wraps, pages and ends with the result; a pipe, NO_COLOR and CI stay plain."""

import os
import re
import socket
from pathlib import Path

import pytest

from lmrbench_data.tasks.overview import task_facts
from lmrbench_data.tasks.task_folders import load_tasks
from support import warm_cli
from support.command_line import PROGRAM, in_process, in_terminal, plain
from support.runs import two_levels, write_run

ESCAPE = "\x1b"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """One model with three samples of one instance, whose first failed at length."""
    said = "output[0]['a key that is rather long']: got 0.786, expected 0.785 (relative error 0.0018, tolerance 0.0001)"
    pairs = [("failed", "failed"), ("passed", "failed"), ("passed", "passed")]
    rows = [two_levels("a-one", *pair, model="org/model-5-mini", sample=n) for n, pair in enumerate(pairs)]
    for row in rows:
        row["prediction_sha256"] = str(row["sample"])
        for case in row["cases"]:
            case["detail"] = said
    return write_run(tmp_path / "run", rows, dataset="gone")  # nothing to build for a difference


def test_report_ends_with_the_scores_and_has_colours_in_a_terminal_alone(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    shown = in_terminal(60, "report", str(run))
    lines = plain(shown).rstrip().splitlines()
    assert "Unit-test accuracy" in "\n".join(lines[-12:])
    assert max(map(len, lines)) <= 60
    assert ESCAPE in shown
    printed = in_process("report", str(run)).stdout
    assert ESCAPE not in printed
    assert re.search(r"org/model-5-mini .*66\.7% \(2/9\)|org/model-5-mini.*22\.2% \(2/9\)", printed), printed
    monkeypatch.setenv("NO_COLOR", "1")
    assert ESCAPE not in in_terminal(60, "report", str(run))


@pytest.mark.parametrize("columns", [60, 80, 120])
@pytest.mark.parametrize("length", [61, 117, 400])
def test_long_names_leave_every_number_of_a_report(columns: int, length: int, tmp_path: Path) -> None:
    """The names took the whole width, and rich dropped the columns of numbers."""
    start = ("org/" + "checkpoint" * 40)[: length - 6]
    models = [f"{start}-{end}" for end in ("first", "other", "third")]
    rows = [
        two_levels(instance, core, core, model=model, metadata={"input_tokens": 1234, "cost_usd": 0.5})
        for model, core in zip(models, ("passed", "failed", "passed"), strict=True)
        for instance in ("a-one", "a-two", "b-one", "b-two", "b-three")
    ]
    scope = dict.fromkeys((row["instance_id"] for row in rows), "Alpha")  # enough for a paired comparison
    run = write_run(tmp_path / "run", rows, dataset="gone", scope=scope)
    shown = plain(in_terminal(columns, "report", str(run)))
    lines = shown.splitlines()
    assert max(map(len, lines)) <= columns
    printed = in_process("report", str(run)).stdout
    numbers = re.compile(r"(?<!\S)(?!95%)[-+(]?\d\S*")  # a list repeats the heading 95% in each row
    assert sorted(numbers.findall(shown)) == sorted(numbers.findall(printed))
    folded = "".join(line.split("   ")[0].strip() for line in shown.partition("Unit-test accuracy")[2].splitlines())
    assert [model in folded for model in models] == [True] * 3


def test_tasks_are_listed_in_one_line_each_on_80_columns() -> None:
    lines = plain(in_terminal(80, "tasks", "list")).splitlines()
    assert max(map(len, lines)) <= 80
    for row in task_facts(load_tasks()):
        [line] = [line for line in lines if line.split()[:1] == [row["instance_id"]]]
        assert row["goals"][0].partition(":")[2][:30] in line


@pytest.mark.parametrize(
    "command", ["evaluate gold --dataset org/name@v9.9.9 --sandbox local --out out", "verify org/results 3"]
)
def test_silent_hub_is_reported_in_one_line(command: str, tmp_path: Path) -> None:
    """On its own, the client would wait for ever, or try six times."""
    with socket.create_server(("127.0.0.1", 0)) as silent:  # takes connections and never answers
        endpoint = f"http://127.0.0.1:{silent.getsockname()[1]}"
        variables = {"HF_ENDPOINT": endpoint, "HF_HUB_ETAG_TIMEOUT": "1", "HF_TOKEN": "x", "HF_HOME": str(tmp_path)}
        done = warm_cli.run([*PROGRAM, *command.split()], cwd=tmp_path, env={**os.environ, **variables})
    assert done.returncode == 3
    [line] = [line for line in done.stderr.splitlines() if not line.startswith("warning: ")]
    assert line.startswith("error: ")
    assert "the Hub does not answer" in line
