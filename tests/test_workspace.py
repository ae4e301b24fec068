"""Workspaces for agents: what is in them, and the patch that is taken from whatever an agent leaves there."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import warm_cli

from lmrbench_data.build import write_dataset
from lmrbench_data.errors import InputError
from lmrbench_data.evaluate.evaluator import evaluate_prediction
from lmrbench_data.evaluate.predictions import Prediction
from lmrbench_data.evaluate.sandbox.base import Sandbox
from lmrbench_data.evaluate.verdict import Status
from lmrbench_data.evaluate.workspace import rebuild
from lmrbench_data.generate.workspace import collect_patch, read_marker, write_workspace
from lmrbench_data.loader import LoadError, read_archive
from lmrbench_data.manifest import load_benchmark

LMRBENCH = str(Path(sys.executable).with_name("lmrbench"))
GOAL = "scale.py"


def git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder / "repo"), "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def solve(folder: Path) -> None:
    """Write the answer as an agent does: into the goal file."""
    path = folder / "repo" / GOAL
    path.write_text(
        path.read_text().replace("    raise NotImplementedError", "    return [factor * v for v in values]")
    )


def test_a_workspace_shows_the_task_and_nothing_else(toy_row: dict[str, Any], tmp_path: Path) -> None:
    folder = write_workspace(toy_row, tmp_path / "w")
    files = {path.name for path in folder.iterdir()}
    assert files == {"TASK.md", "paper.md", "repo", ".lmrbench.json"}
    assert toy_row["instruction"] in (folder / "TASK.md").read_text()
    assert toy_row["contract"] not in (folder / "TASK.md").read_text()
    shown = [path for path in (folder / "repo").rglob("*") if path.is_file() and ".git" not in path.parts]
    assert {str(path.relative_to(folder / "repo")) for path in shown} == set(read_archive(toy_row["repo_archive"]))
    assert git(folder, "rev-list", "--all", "--objects").count(" scale.py") == 1
    assert git(folder, "log", "--format=%s").splitlines() == ["toy, one function masked"]
    assert git(folder, "status", "--porcelain") == ""
    everything = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    assert b"scaled = [" not in everything
    with pytest.raises(LoadError, match="not an empty folder"):
        write_workspace(toy_row, folder)
    again = write_workspace(toy_row, tmp_path / "x", track="contract")
    assert toy_row["contract"] in (again / "TASK.md").read_text()
    assert git(again, "rev-parse", "HEAD") == git(folder, "rev-parse", "HEAD"), "equal rows give equal repositories"


@pytest.fixture
def toy_dataset(toy_row: dict[str, Any], tmp_path: Path) -> Path:
    write_dataset([toy_row], tmp_path / "toy", load_benchmark())
    return tmp_path / "toy"


def commit(folder: Path) -> None:
    solve(folder)
    git(folder, "add", "-A")
    git(folder, "commit", "-m", "solved")


def hostile_git(folder: Path) -> None:
    """A configuration that would run a program, and a history that is gone."""
    solve(folder)
    git(folder, "config", "core.fsmonitor", "touch /tmp/lmrbench-was-run")
    git(folder, "config", "diff.external", "touch /tmp/lmrbench-was-run")
    (folder / "repo" / ".gitattributes").write_text("*.py diff=evil filter=evil\n")
    git(folder, "config", "filter.evil.clean", "touch /tmp/lmrbench-was-run")
    git(folder, "update-ref", "-d", "HEAD")


def no_git(folder: Path) -> None:
    solve(folder)
    subprocess.run(["rm", "-rf", str(folder / "repo" / ".git")], check=True)


def leftovers(folder: Path) -> None:
    """Beside the repository, and in it: a cache, a virtual environment with a link, a binary."""
    solve(folder)
    (folder / "notes.txt").write_text("mine")
    cache = folder / "repo" / "__pycache__"
    cache.mkdir()
    (cache / "scale.cpython-311.pyc").write_bytes(b"\0\1")
    (folder / "repo" / "model.bin").write_bytes(bytes(range(256)) * 50)


def new_module(folder: Path) -> None:
    (folder / "repo" / "more.py").write_text("def times(v, f):\n    return v * f\n")
    path = folder / "repo" / GOAL
    path.write_text(
        "from more import times\n\n\ndef scale(values, factor):\n    return [times(v, factor) for v in values]\n"
    )
    git(folder, "mv", "helpers.py", "assistants.py")


@pytest.mark.parametrize("work", [solve, commit, hostile_git, no_git, leftovers, new_module])
def test_whatever_an_agent_leaves_its_answer_is_taken(
    work: Callable[[Path], None],
    toy_row: dict[str, Any],
    tmp_path: Path,
    local_sandbox: Sandbox,
) -> None:
    folder = write_workspace(toy_row, tmp_path / "w")
    work(folder)
    prediction = Prediction("toy-scale", "agent", "model_patch", collect_patch(toy_row, folder))
    files = rebuild(toy_row, prediction)
    assert not {name for name in files if "pycache" in name or name.endswith((".bin", ".txt"))}
    image = local_sandbox.prepare(toy_row["docker_image"])
    assert evaluate_prediction(toy_row, prediction, local_sandbox, image).status is Status.PASSED
    assert not Path("/tmp/lmrbench-was-run").exists()


@pytest.mark.slow
def test_rows_are_collected(toy_row: dict[str, Any], tmp_path: Path, toy_dataset: Path) -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        line = [LMRBENCH, "agent", *arguments, "--dataset", str(toy_dataset)]
        return warm_cli.run(line, cwd=tmp_path, capture_output=True, text=True, timeout=120)

    for name in ("one", "two"):
        assert run("workspace", "toy-scale", name, "--track", "contract").returncode == 0
    solve(tmp_path / "one")
    done = run("collect", "one", "two", "--model", "me", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"out": "predictions.jsonl", "rows": 2, "empty": 1}
    assert "two: nothing was changed" in done.stderr
    rows = [json.loads(line) for line in (tmp_path / "predictions.jsonl").read_text().splitlines()]
    assert [(row["track"], row["setting"], row["sample"]) for row in rows] == [
        ("contract", "agent", 0),
        ("contract", "agent", 1),
    ]
    assert "raise NotImplementedError" in rows[0]["model_patch"]
    assert rows[1]["model_patch"] == ""
    (tmp_path / "none").mkdir()
    failed = run("collect", "none", "--model", "me")
    assert (failed.returncode, failed.stderr.count("\n")) == (1, 1)
    assert "none: no workspace of `lmrbench agent workspace`" in failed.stderr
    unknown = run("workspace", "toy-scales", "x")
    assert "toy-scales" in unknown.stderr
    assert unknown.returncode == 1


def test_a_folder_without_its_repository_is_one_line(toy_row: dict[str, Any], tmp_path: Path) -> None:
    folder = write_workspace(toy_row, tmp_path / "w")
    assert read_marker(folder) == ("toy-scale", "paper")
    subprocess.run(["rm", "-rf", str(folder / "repo")], check=True)
    with pytest.raises(InputError, match="is gone"):
        collect_patch(toy_row, folder)
