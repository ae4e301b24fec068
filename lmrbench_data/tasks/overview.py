"""Tasks for people: a list, an instance as a model sees it, and the page of all tasks."""

import dataclasses
import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..base.proportions import CONTRACT
from ..base.templates import environment
from ..base.text import plural
from ..loader import METHOD
from .manifest import load_benchmark
from .recordings import last_recording
from .task import Instance, Task
from .task_folders import choose_folders, load_tasks

if TYPE_CHECKING:
    import jinja2

PAGE = "README.md"


def task_facts(tasks: Sequence[Task]) -> list[dict[str, Any]]:
    """Return the facts of each selected instance, in order of the task folders.

    `lines` counts lines of the repository's Python files; `depends_on` names the files that a
    solution needs.
    """
    return [_facts(task, item) for task in tasks for item in task.instances]


def _facts(task: Task, item: Instance) -> dict[str, Any]:
    code = [file.data for name, file in task.repo.items() if name.endswith(".py")]
    paper = task.paper
    goals = []
    for file, names in item.goals.items():
        goals += [f"{file}:{name}" for name in names]
    return {
        "instance_id": item.instance_id,
        "task": task.name,
        "category": item.category,
        "paper": paper["title"],
        "paper_url": paper["url"],
        "venue": paper["venue"],
        "year": paper["year"],
        "goals": goals,
        "files": len(task.repo),
        "lines": b"".join(code).count(b"\n"),
        "depends_on": list(item.depends_on),
    }


def goal_text(goals: Sequence[str]) -> str:
    """Return a goal function, or the number of them, for a table."""
    if len(goals) == 1:
        return goals[0]
    files = {goal.partition(":")[0] for goal in goals}
    return f"{len(goals)} functions in {plural(len(files), 'file')}"


def view_instances(name: str, track: str, benchmark: Path | None) -> list[dict[str, Any]]:
    """Return the instance of this id, or all instances of the task folder of this name."""
    [task] = load_tasks(choose_folders([name], benchmark), benchmark)
    return [
        _view(task, item, track)
        for item in task.every_instance
        if name in (task.name, item.instance_id)
    ]


def _view(task: Task, item: Instance, track: str) -> dict[str, Any]:
    recording = last_recording(task, item)
    tables = recording.tables if recording else None
    facts = {
        "instance_id": item.instance_id,
        "category": item.category,
        "paper": dict(task.paper),
        "instruction": item.instruction_for(task.choices),
    }
    if track == CONTRACT and item.configuration.has_contract:
        facts["contract"] = item.contract
    facts["paper_text"] = task.paper_of(item, tables)
    return {**facts, **_view_repository(task, item)}


def _view_repository(task: Task, item: Instance) -> dict[str, Any]:
    masked = task.masked_repo(item)
    return {
        "goals": {name: list(functions) for name, functions in item.goals.items()},
        "context_files": list(item.context_files),
        "repository": sorted(masked),
        "masked_files": {name: masked[name].data.decode("utf-8") for name in item.goals},
    }


def render_page(tasks: Sequence[Task]) -> str:
    """Return the text of benchmark/README.md."""
    facts = task_facts(tasks)
    categories = Counter(fact["category"] for fact in facts)
    methods = [dataclasses.replace(task, instances=task.instances_of(METHOD)) for task in tasks]
    return _page_template().render(
        benchmark=load_benchmark(tasks[0].folder.parent),
        facts=facts,
        papers=len({fact["paper_url"] for fact in facts}),
        categories=sorted(categories.items(), key=lambda item: (-item[1], item[0])),
        methods=task_facts(methods),
        chosen=[task for task in tasks if task.choices],
        combinations=lambda task: math.prod(len(choice.options) for choice in task.choices),
        goal_text=goal_text,
    )


def _page_template() -> "jinja2.Template":
    templates = environment(Path(__file__).parent, cell=lambda text: str(text).replace("|", "\\|"))
    return templates.get_template("page.md.j2")
