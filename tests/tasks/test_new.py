"""`dataset init` and `tasks new`: the page's own commands lead from a repository to an evaluated dataset."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from lmrbench_data.base.errors import InputError
from lmrbench_data.tasks.drafts import new_benchmark, new_task
from support.command_line import PROGRAM
from support.new_task_world import EXAMPLE, TASK, commands_of, lmrbench


@pytest.mark.slow
def test_commands_of_the_page_lead_to_an_evaluated_dataset(tmp_path: Path) -> None:
    """All but `dataset check`, which runs in the story."""
    lints = []
    for words in commands_of("adding-a-task.md"):
        if words[:2] == ["dataset", "check"]:
            continue
        if "--sandbox" in words:
            words[words.index("--sandbox") + 1] = "local"
        elif words[0] == "evaluate":
            words += ["--sandbox", "local"]
        done = lmrbench(tmp_path, *words)
        if words[:2] == ["tasks", "lint"]:
            lints.append(done)
        else:
            assert done.returncode == 0, (words, done.stdout, done.stderr)
        if words[:2] == ["tasks", "new"]:
            shutil.copytree(EXAMPLE / "nucleus", tmp_path / "tasks" / TASK / "repo")
        if len(lints) == 1:
            shutil.copytree(EXAMPLE / "filled", tmp_path / "tasks" / TASK, dirs_exist_ok=True)
    draft, filled = lints
    assert f"{TASK}: task.yaml:3: TODO" in draft.stdout
    assert f"{TASK}: unit_test/cases.py:" in draft.stdout
    assert (filled.returncode, filled.stdout) == (0, "1 task, no problems\n")
    [row] = [json.loads(line) for line in (tmp_path / "runs" / "gold" / "results.jsonl").read_text().splitlines()]
    assert (row["instance_id"], row["status"], row["core_status"]) == ("nucleus-filter", "passed", "passed")
    assert "# My Bench 0.1.0" in (tmp_path / "my-bench" / "README.md").read_text()


def test_checkout_on_another_system_keeps_the_bytes_of_a_new_benchmark(tmp_path: Path) -> None:
    benchmark = new_benchmark(tmp_path / "tasks", title="My Bench", name="my-bench")
    me = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    for words in (["init", "-q"], ["add", "-A"], [*me, "commit", "-qm", "start"]):
        subprocess.run(["git", *words], cwd=benchmark, check=True)
    subprocess.run(["git", "clone", "-qc", "core.autocrlf=true", benchmark, tmp_path / "clone"], check=True)
    for path in (path for path in benchmark.glob("**/*") if path.is_file() and ".git" not in path.parts):
        assert (tmp_path / "clone" / path.relative_to(benchmark)).read_bytes() == path.read_bytes()


def test_a_full_disk_leaves_no_half_of_a_benchmark(tmp_path: Path) -> None:
    """No file may grow, so that a write fails as on a full disk."""
    init = [*PROGRAM, "dataset", "init", "tasks", "--title", "My Bench"]
    done = subprocess.run(
        ["sh", "-c", 'ulimit -f 0; exec "$@"', "sh", *init], cwd=tmp_path, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr.count("\n")) == (3, 1), done.stderr
    assert re.fullmatch(r"error: tasks/environments/\S+: .*File too large.*\n", done.stderr)
    assert subprocess.run(init, cwd=tmp_path, capture_output=True).returncode == 0


def test_wrong_arguments_are_one_line_and_write_nothing(tmp_path: Path) -> None:
    benchmark = new_benchmark(tmp_path / "tasks", title="My Bench", name="my-bench")
    assert new_task("nucleus", benchmark).name == TASK
    assert new_task("nucleus", benchmark).name == "02-nucleus"
    before = sorted(tmp_path.rglob("*"))
    for call, message in (
        (lambda: new_task("A B", benchmark), "slug: 'A B': use lower-case letters"),
        (lambda: new_task("a", tmp_path), "has no benchmark.yaml; `lmrbench dataset init"),
        (lambda: new_benchmark(benchmark, title="Again"), "tasks: is already a benchmark"),
        (lambda: new_benchmark(tmp_path / "other", title="X", name="lmr-bench"), "choose one of your own"),
    ):
        with pytest.raises(InputError, match=message):
            call()
    assert sorted(tmp_path.rglob("*")) == before
