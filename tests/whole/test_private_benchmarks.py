"""Benchmarks of one's own: the page's complete example works, and own environments are recognised."""

import json
import shlex
import shutil
from pathlib import Path

import pytest

from lmrbench.checks.lint import lint_tasks
from lmrbench_data.base.errors import InfraError
from lmrbench_data.tasks.task_folders import load_tasks
from lmrbench_evaluate.sandbox.docker import DockerSandbox
from lmrbench_evaluate.sandbox.local import LocalSandbox
from support.new_task_world import blocks_of, lmrbench

PAGE = "private-benchmarks.md"


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A folder with the page's files in which its commands ran, in order, and what each printed."""
    folder, printed = tmp_path_factory.mktemp("page"), dict[str, str]()
    for language, title, content in blocks_of(PAGE):
        if title:
            path = folder / title
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        for line in content.splitlines() if language == "bash" else ():
            words = shlex.split(line)[1:]
            if words[1] == "record" or words[0] == "evaluate":
                words += ["--sandbox", "local"]
            done = lmrbench(folder, *words)
            assert done.returncode == 0, (line, done.stdout, done.stderr)
            printed[" ".join(words[:2])] = done.stdout
    return folder, printed


@pytest.mark.slow
def test_example_of_the_page_and_suggested_commands_work(followed: tuple[Path, dict[str, str]], tmp_path: Path) -> None:
    folder, printed = followed
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    assert "bleu-brevity-penalty" in printed["tasks list"]
    assert printed["dataset build"].startswith("my-bench: function: 1 row, content ")
    [row] = [json.loads(line) for line in (tmp_path / "runs" / "gold" / "results.jsonl").read_text().splitlines()]
    assert (row["instance_id"], row["status"]) == ("bleu-brevity-penalty", "passed")
    # As the page says: four things are left, all of them about variants.
    problems = lint_tasks(benchmark=tmp_path / "tasks")[1]
    assert [problem.where for problem in problems] == ["valid", "plain", "careless", "wrong"]

    # Card, page and report carry the benchmark's own name.
    card = (tmp_path / "my-bench" / "README.md").read_text()
    for text in ("pretty_name: My Bench\n", "# My Bench 0.1.0\n", "It covers 1 paper in 1 category:"):
        assert text in card
    assert lmrbench(tmp_path, "tasks", "page", "--benchmark", "tasks").returncode == 0
    assert (tmp_path / "tasks" / "README.md").read_text().splitlines()[1] == "# The tasks of My Bench"
    report = (tmp_path / "runs" / "gold" / "report.md").read_text()
    assert report.startswith("# Report on my-bench\n")
    assert "LMR-Bench" not in printed["evaluate gold"] + report

    # A changed case makes the recording outdated; the suggested command repairs it.
    cases = tmp_path / "tasks" / "01-bleu" / "unit_test" / "cases.py"
    cases.write_text(cases.read_text() + "# Changed.\n")
    refused = lmrbench(tmp_path, "dataset", "build", "--benchmark", "tasks")
    suggested = "run `lmrbench dataset record 01-bleu --benchmark tasks`"
    assert suggested in refused.stderr
    words = shlex.split(suggested.removeprefix("run `lmrbench ").removesuffix("`"))
    assert lmrbench(tmp_path, *words, "--sandbox", "local").returncode == 0
    built = lmrbench(tmp_path, "dataset", "build", "--benchmark", "tasks")
    assert built.returncode == 0
    for words, message in (
        (("dataset", "build", "--benchmark", "tasks", "--out", "tasks"), "tasks: contains other files ("),
        (("dataset", "init", "tasks", "--title", "Again"), "tasks: is already a benchmark; nothing is overwritten"),
    ):
        done = lmrbench(tmp_path, *words)
        assert (done.returncode, message in done.stderr) == (1, True)


@pytest.mark.slow
def test_draft_is_left_out_with_a_warning_until_it_is_recorded(
    followed: tuple[Path, dict[str, str]], tmp_path: Path
) -> None:
    shutil.copytree(followed[0], tmp_path, dirs_exist_ok=True)
    option = ("--benchmark", "tasks")
    draft = tmp_path / "tasks" / "02-draft"
    shutil.copytree(tmp_path / "tasks" / "01-bleu", draft, ignore=shutil.ignore_patterns("recorded"))
    text = (draft / "task.yaml").read_text().replace("bleu-brevity-penalty", "bleu-draft")
    (draft / "task.yaml").write_text(text.replace("category: Evaluation Metrics", "category: TODO"))
    warning = "warning: 02-draft: draft, left out; `lmrbench tasks lint --benchmark tasks` lists what is left to do"
    for words in (("tasks", "list"), ("dataset", "build")):
        done = lmrbench(tmp_path, *words, *option)
        assert (done.returncode, warning in done.stderr, "bleu-draft" in done.stdout) == (0, True, False)
    # Naming the draft reports what is wrong with it; once recorded, any problem in it stops a build.
    named = lmrbench(tmp_path, "dataset", "record", "bleu-draft", *option, "--sandbox", "local")
    (draft / "recorded").mkdir()
    (draft / "recorded" / "bleu-draft.json").write_text("{}")
    for done in (named, lmrbench(tmp_path, "dataset", "build", *option)):
        assert done.returncode == 1
        assert "02-draft/task.yaml: implementations[0].category: 'TODO' is not one of" in done.stderr


@pytest.fixture
def own_environment(tmp_path: Path, toy_benchmark: Path) -> Path:
    """The toy benchmark with an environment that nobody else has."""
    (toy_benchmark / "environments" / "torch-cpu").rename(toy_benchmark / "environments" / "bare")
    bare = toy_benchmark / "environments" / "bare"
    (bare / "Dockerfile").write_text("FROM scratch\nCOPY requirements.txt /\n")
    (bare / "requirements.txt").write_text("# What tasks may import\nnumpy==2.4.6\n")
    (bare / "environment.yaml").write_text("description: Python and NumPy\ndisk_mb: 1\n")
    path = toy_benchmark / "90-toy" / "task.yaml"
    path.write_text(path.read_text().replace("environment: torch-cpu", "environment: bare"))
    return toy_benchmark


def test_own_environment_is_recognised_with_its_benchmark(own_environment: Path, tmp_path: Path) -> None:
    [task] = load_tasks(benchmark=own_environment)
    with LocalSandbox(own_environment) as sandbox:
        assert "numpy" in sandbox.prepare(task.image_tag)
    with LocalSandbox() as sandbox, pytest.raises(InfraError, match="'bare' is not in this installation"):
        sandbox.prepare(task.image_tag)
    options = ("--benchmark", own_environment, "--sandbox", "local")
    assert lmrbench(tmp_path, "dataset", "record", *options).returncode == 0


@pytest.mark.docker
def test_own_environment_is_built_on_demand(own_environment: Path) -> None:
    from lmrbench_evaluate.sandbox.docker_client import connect
    from lmrbench_evaluate.sandbox.images import layers_digest

    [task] = load_tasks(benchmark=own_environment)
    with DockerSandbox() as sandbox, pytest.raises(InfraError, match="images build --benchmark DIR"):
        sandbox.prepare(task.image_tag)
    with DockerSandbox(own_environment) as sandbox:
        identity = sandbox.prepare(task.image_tag)
    assert layers_digest(connect(), task.image_tag) == identity
    connect().remove_image(task.image_tag, force=True)
