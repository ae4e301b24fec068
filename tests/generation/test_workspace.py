"""Workspaces for agents: what is in them, and the patch that is taken from whatever an agent leaves there."""

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from lmrbench.generation.prompt import build_prompt
from lmrbench.generation.workspace import marker_of, read_marker, task_text, workspace_files, write_workspace
from lmrbench_data.base.errors import InfraError, InputError
from lmrbench_data.dataset.build import write_dataset
from lmrbench_data.dataset.load import load_rows
from lmrbench_data.loader import read_archive
from lmrbench_data.tasks.environments import load_environments, versions_in
from lmrbench_data.tasks.manifest import load_benchmark
from lmrbench_evaluate.predictions.prediction import Prediction
from lmrbench_evaluate.rebuild.workspace import rebuild
from lmrbench_evaluate.sandbox.base import Limits, Sandbox
from lmrbench_evaluate.verdict.evaluator import evaluate_prediction
from lmrbench_evaluate.verdict.verdict import Status
from support.agent_workspace import GOAL, collect, git, solve
from support.command_line import in_process
from support.sandboxes import output_of, workspace_of
from support.toy import json_lines


def test_workspace_holds_the_task_and_nothing_else(toy_row: dict[str, Any], tmp_path: Path) -> None:
    folder = write_workspace(toy_row, tmp_path / "w")
    files = {path.name for path in folder.iterdir()}
    assert files == {"TASK.md", "paper.md", "repo"}
    assert toy_row["instruction"] in (folder / "TASK.md").read_text()
    assert toy_row["contract"] not in (folder / "TASK.md").read_text()
    shown = [path for path in (folder / "repo").rglob("*") if path.is_file() and ".git" not in path.parts]
    assert {str(path.relative_to(folder / "repo")) for path in shown} == set(read_archive(toy_row["repo_archive"]))
    assert git(folder, "rev-list", "--all", "--objects").count(" scale.py") == 1
    assert git(folder, "log", "--format=%s").splitlines() == ["toy, one function masked"]
    assert git(folder, "status", "--porcelain") == ""
    assert not list((folder / "repo" / ".git").rglob("*.sample")), "no hooks of this machine's template"
    task = (folder / "TASK.md").read_text()
    assert "a git repository with one commit" in task
    in_container = workspace_files(toy_row)["TASK.md"].data.decode()
    assert "There is no git here, and nothing has to be committed." in in_container
    everything = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    assert b"scaled = [" not in everything
    with pytest.raises(InputError, match="w: is not an empty folder; name a new one"):
        write_workspace(toy_row, folder)
    again = write_workspace(toy_row, tmp_path / "x", track="contract")
    assert toy_row["contract"] in (again / "TASK.md").read_text()
    assert git(again, "rev-parse", "HEAD") == git(folder, "rev-parse", "HEAD"), "equal rows give equal repositories"


def test_workspace_on_a_mount_with_another_owner(
    toy_row: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program `git` before the real one makes git believe that every folder belongs to somebody else."""
    owned = write_workspace(toy_row, tmp_path / "owned")
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nGIT_TEST_ASSUME_DIFFERENT_OWNER=1 exec {shutil.which("git")} "$@"\n')
    program.chmod(0o755)
    with monkeypatch.context() as patch:
        patch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
        foreign = write_workspace(toy_row, tmp_path / "foreign")
        solve(foreign)
        assert collect(toy_row, foreign)[0]["model_patch"].startswith(f"diff --git a/{GOAL}")
    assert git(foreign, "rev-parse", "HEAD") == git(owned, "rev-parse", "HEAD")
    assert (foreign / "repo/.git/config").read_bytes() == (owned / "repo/.git/config").read_bytes()


def test_task_and_prompt_name_what_else_is_masked_or_removed(toy_row: dict[str, Any]) -> None:
    [row] = load_rows("embedded", "function", ["empathy-gap-delta"])
    also = "because other tasks ask for it: `get_filtered_matrix` in `{}analysis/analysis_after_processing.py`"
    prompt = build_prompt(row).messages[1]["content"]
    for text, folder in ((task_text(row, "paper", has_git=True), "repo/"), (prompt, "")):
        assert also.format(folder) in " ".join(text.split())
        assert "Helpers that only the removed code used are gone, too" in " ".join(text.split())
        assert "gap_score" not in text, "the helpers' names would show how the reference is built"
    toy = task_text(toy_row, "paper", has_git=True)
    assert "Also masked" not in toy
    assert "Helpers" not in toy


def test_task_and_prompt_name_the_versions_that_tests_use(toy_row: dict[str, Any], method_row: dict[str, Any]) -> None:
    packages = load_environments()["torch-cpu"].packages()
    line = f"The tests use Python 3.11, {', '.join(packages)}.\n".replace("==", " ")
    for row in (toy_row, method_row):
        other = {**row, "docker_image": "lmrbench/torch-cpu:000000000000"}
        for show in (
            lambda row: task_text(row, "paper", has_git=True),
            lambda row: build_prompt(row).messages[1]["content"],
        ):
            assert line in show(row)
            assert "The tests use" not in show(other), "an environment of another installation"


@pytest.mark.docker
def test_versions_are_those_of_the_image(docker_sandbox: Sandbox, toy_row: dict[str, Any]) -> None:
    show = """
    import platform
    from importlib import metadata
    names = {names}
    return [platform.python_version()] + [metadata.version(name).partition("+")[0] for name in names]
    """
    named = [words.split() for words in versions_in(toy_row["docker_image"]).split(", ")]
    assert [name for name, _ in named][:2] == ["Python", "numpy"]
    workspace = workspace_of(show.format(names=[name for name, _ in named[1:]]))
    outcome = docker_sandbox.run(docker_sandbox.prepare(toy_row["docker_image"]), workspace, Limits(60, 256))
    for version, (name, stated) in zip(output_of(outcome), named, strict=True):
        assert f"{version}.".startswith(f"{stated}."), name


def test_answer_is_collected_from_any_workspace(
    toy_row: dict[str, Any], tmp_path: Path, local_sandbox: Sandbox
) -> None:
    """Committed and not; with a new module, a renamed file, a cache and a binary, and notes beside the repository."""
    folder = write_workspace(toy_row, tmp_path / "w")
    repo = folder / "repo"
    (repo / GOAL).write_text("from more import times\n\n\ndef scale(v, f):\n    return [times(x, f) for x in v]\n")
    git(folder, "mv", "helpers.py", "assistants.py")
    git(folder, "add", "-A")
    git(folder, "commit", "-m", "solved")
    (repo / "more.py").write_text("def times(v, f):\n    return v * f\n")
    (folder / "notes.txt").write_text("mine")
    (repo / "__pycache__").mkdir()
    for name in ("__pycache__/scale.cpython-311.pyc", "model.bin"):
        (repo / name).write_bytes(bytes(range(256)) * 50)
    [row] = collect(toy_row, folder)
    prediction = Prediction("toy-scale", "agent", "model_patch", row["model_patch"])
    files = rebuild(toy_row, prediction)
    assert {"more.py", "assistants.py"} <= files.keys()
    assert not {name for name in files if "pycache" in name or name.endswith((".bin", ".txt"))}
    image = local_sandbox.prepare(toy_row["docker_image"])
    assert evaluate_prediction(toy_row, prediction, local_sandbox, image).status is Status.PASSED


@pytest.mark.slow
def test_rows_are_collected_by_the_printed_command(toy_row: Any, method_row: Any, tmp_path: Path) -> None:
    write_dataset([toy_row, method_row], tmp_path / "toy", load_benchmark())

    def run(*arguments: str, status: int = 0) -> str:
        done = in_process("agent", *arguments, "--dataset", "toy", cwd=tmp_path)
        assert done.returncode == status, done.stderr
        return done.stdout + done.stderr

    def rows() -> list[dict[str, Any]]:
        return json_lines(tmp_path / "predictions.jsonl")

    for name, instance in (("one", "toy-scale"), ("two", "toy-scale"), ("whole", method_row["instance_id"])):
        text = run("workspace", instance, name)
        assert f"`lmrbench agent collect {name} --model NAME --dataset toy`" in text
    solve(tmp_path / "one")
    solve(tmp_path / "whole")
    text = run("collect", "one", "two", "whole", "--model", "me")
    assert "two: no changes" in text
    assert "`lmrbench evaluate predictions.jsonl --config method --dataset toy`" in text
    assert [(row["sample"], bool(row["model_patch"])) for row in rows()] == [(0, True), (1, False), (0, True)]
    # Each call numbers its samples anew; the stale answer must not be the one that is evaluated.
    (tmp_path / "one" / "repo" / GOAL).write_text("def scale(values, factor):\n    return 'later'\n")
    text = run("collect", "one", "--model", "me", status=1)
    sample = "sample 0 of 'me' (agent, paper) for toy-scale"
    assert text.startswith(f"error: --out: predictions.jsonl has {sample}; replace it")
    run("collect", "one", "--model", "me", "--sample", "2")
    run("collect", "one", "--model", "me", "--replace")
    assert [row["sample"] for row in rows() if "later" in row["model_patch"]] == [2, 0]
    (tmp_path / "none").mkdir()
    assert "none: is not a workspace of `lmrbench agent workspace`" in run("collect", "none", "--model", "me", status=1)
    assert "toy-scales" in run("workspace", "toy-scales", "x", status=1)


def test_workspace_of_another_version_is_not_compared(toy_row: Any, tmp_path: Path) -> None:
    """Its repository may differ from the row's, and the patch would undo what the benchmark has changed."""
    folder = write_workspace(toy_row, tmp_path / "w")
    with pytest.raises(InputError, match=r"w: was made from another version of toy-scale; name that dataset"):
        collect({**toy_row, "row_sha256": "0" * 64}, folder)


def test_marker_that_is_not_a_regular_file_is_one_line(toy_row: Any, tmp_path: Path) -> None:
    folder = write_workspace(toy_row, tmp_path / "w")
    marker = marker_of(folder)
    assert read_marker(folder) == ("toy-scale", "paper", toy_row["row_sha256"])
    for replace in (lambda: None, lambda: os.mkfifo(marker), lambda: marker.symlink_to("/dev/zero")):
        marker.unlink(missing_ok=True)
        replace()
        with pytest.raises(InputError, match=r"w: is not a workspace of `lmrbench agent workspace`"):
            read_marker(folder)


def test_workspace_that_fails_leaves_nothing(toy_row: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes").touch()
    with monkeypatch.context() as patch:
        patch.setenv("PATH", "")  # no git
        for name, error in (("new", InfraError), ("empty", InfraError), ("mine", InputError)):
            with pytest.raises(error):
                write_workspace(toy_row, tmp_path / name)
    assert [path.name for path in sorted(tmp_path.rglob("*"))] == ["empty", "mine", "notes"]
    write_workspace(toy_row, tmp_path / "empty")
