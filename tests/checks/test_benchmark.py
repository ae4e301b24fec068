"""The benchmark's own tasks: sound in Docker, runnable as their READMEs say, and free of lines of references."""

import json
import math
import runpy
from pathlib import Path

import pytest

import lmrbench as lmr
import lmrbench_data
from lmrbench.checks.check import check_tasks
from lmrbench.checks.choices import option_problems
from lmrbench.checks.proved import unproved
from lmrbench.checks.static import ReferenceLines, static_problems
from lmrbench.original.facts import labels
from lmrbench_data.base.paths import benchmark_folder
from lmrbench_data.tasks.guessing import chance, reciting
from lmrbench_data.tasks.overview import PAGE, render_page, task_facts
from lmrbench_data.tasks.task import Task
from lmrbench_data.tasks.task_folders import load_tasks, read_tasks
from lmrbench_evaluate.sandbox.base import Sandbox
from support.toy import IN_DEPTH

TASKS = load_tasks()
INSTANCES = [item.instance_id for task in TASKS for item in task.implementations]
#: Checked whole: all with `make test-all`, else those that changed since `lmrbench dataset check`.
TO_PROVE = [task for task in TASKS if IN_DEPTH or unproved([task])]


@pytest.mark.docker
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("task", TO_PROVE, ids=lambda task: task.name)
def test_task_is_sound(task: Task, docker_sandbox: Sandbox) -> None:
    """Golden passes, masked fails, valid variants pass, wrong ones fail, nothing leaks."""
    findings = list(check_tasks([task], docker_sandbox))
    assert sum(finding.is_trial for finding in findings) >= 2 * len(task.implementations)
    assert [str(finding) for finding in findings if finding.is_error] == []


@pytest.mark.docker
@pytest.mark.timeout(600)
@pytest.mark.parametrize("instance", INSTANCES)
@pytest.mark.sampled(1)
def test_reference_is_robust(instance: str, tmp_path: Path) -> None:
    """This holds for unchanged tasks, too, on the path that a user's answers take."""
    run = lmr.evaluate("gold", tmp_path / "gold", sandbox="docker", instances=[instance])
    assert {row["instance_id"]: row["status"] for row in run.results()} == {instance: "passed"}


def test_tasks_have_no_static_problems() -> None:
    """Models see no line of any goal function in any configuration; `tasks lint` reads `function`."""
    references = ReferenceLines.of(read_tasks(benchmark_folder())[0].values())
    for task in TASKS:
        items = [item for item in task.every_instance if item not in task.implementations]
        assert [found for item in items for found in static_problems(task, item, references)] == [], task.name
        assert list(option_problems(task)) == [], task.name


def test_each_paper_with_choices_has_three_and_two_counterfactuals() -> None:
    for task in TASKS:
        assert not task.choices or (len(task.choices) >= 3 and len(task.counterfactuals) >= 2), task.name


def test_published_options_are_not_the_better_guess() -> None:
    """True options are drawn uniformly: the published ones are as many as 99 of 100 draws give.

    With a fixed share as the least, rows would be kept or dropped for what was drawn, which is a bias of its own.
    """
    choices = runpy.run_path(str(benchmark_folder().parent / "docs" / "counts.py"))["open_choices"](TASKS)
    deviation = math.sqrt(sum((1 - 1 / choice.options) / choice.options for choice in choices)) / len(choices)
    assert abs(reciting(choices) - chance(choices)) <= 2.58 * deviation


def test_page_about_all_tasks_is_up_to_date() -> None:
    assert (benchmark_folder() / PAGE).read_text() == render_page(TASKS), "run `lmrbench tasks page`"


def test_benchmark_has_the_instances_of_the_paper() -> None:
    """Those that the original's answers are labelled for; each folder is a paper, and each category has a task."""
    facts = task_facts(TASKS)
    assert sorted(fact["instance_id"] for fact in facts) == sorted({*labels()["instance_id"]})
    assert len({fact["paper_url"] for fact in facts}) == len(TASKS)
    schema = json.loads(Path(lmrbench_data.__file__).with_name("schema").joinpath("task.schema.json").read_text())
    categories = schema["$defs"]["implementation"]["properties"]["category"]["enum"]
    assert {fact["category"] for fact in facts} == {*categories}
    for fact in facts:
        assert 5 <= fact["files"] <= 20, fact["instance_id"]
        assert 200 <= fact["lines"] <= 1500, fact["instance_id"]
