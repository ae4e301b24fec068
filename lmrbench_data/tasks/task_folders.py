"""Read and validate task folders: `benchmark/NN-slug/task.yaml` and the files that it names.

A task that loads is well-formed; `lmrbench dataset check` proves that it is *sound* (golden passes,
wrong variants fail).
"""

import contextlib
import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping, Set
from pathlib import Path
from typing import Any, NamedTuple

from ..base.archive import matching, read_tree
from ..base.configurations import CONFIGURATIONS, configurations_with
from ..base.errors import ArgumentError, InputError
from ..base.paths import benchmark_folder, benchmark_option
from ..base.source import SourceError
from ..base.strict_yaml import check, read_yaml
from ..base.suggestions import did_you_mean
from ..loader import FUNCTION, METHOD
from .choices import read_choices, read_text
from .method_file import (
    METHOD_FILE,
    altered_id,
    instance_facts,
    read_counterfactuals,
    read_method,
    read_underspecified,
)
from .task import Implementation, Instance, Task

#: Copies that editors, Jupyter and merges leave beside a file.
_COPY = re.compile(
    r"(^|/)(\.ipynb_checkpoints/|\.history/|#[^/]*#$|\.[^/]*\.sw[a-p]$)"
    r"|(~|\.(bak|old|orig|rej|save|tmp))$"
)


class Place(NamedTuple):
    """Where an instance is."""

    folder: Path
    config: str


def load_tasks(
    names: Iterable[str] = (), benchmark: Path | None = None, config: str = FUNCTION
) -> list[Task]:
    """Load tasks in order of their folders.

    Args:
        names: folder names or instance ids; all if empty. An instance id selects one instance of
            its task. Other tasks are not read.
        benchmark: folder of the tasks; the installed one if None.
        config: configuration of the dataset; tasks without an instance of it are left out.
    """
    if config not in CONFIGURATIONS:
        known = ", ".join(CONFIGURATIONS)
        raise ArgumentError("config", f"{config!r} is unknown; one of: {known}")
    names = set(names)
    benchmark = benchmark or benchmark_folder()
    tasks = [_select(task, config, names) for task in _load_named(names, benchmark, config)]
    if unknown := names.difference(*(task.names for task in tasks)):
        raise unknown_names(unknown, benchmark)
    return [task for task in tasks if task.instances]


def _load_named(names: Set[str], benchmark: Path, config: str) -> list[Task]:
    """Load the tasks with these folder names or instance ids, or all."""
    folders = task_folders(benchmark)
    if names:
        folders = [path for path in folders if names & {path.name, *stated_ids(path)}]
    tasks = [load_task(folder, config) for folder in folders]
    _check_unique_ids(tasks)
    return tasks


def _check_unique_ids(tasks: Iterable[Task]) -> None:
    owners: dict[str, Task] = {}
    for task in tasks:
        for name in task.ids:
            owner = owners.setdefault(name, task)
            if owner is not task:
                raise InputError(
                    f"{task.folder / 'task.yaml'}: instance_id: {name!r} is taken by "
                    f"{owner.name}; choose another"
                )


def _select(task: Task, config: str, names: Set[str]) -> Task:
    """Return a task with its instances of a configuration, or those of them that are named."""
    items = task.instances_of(config)
    if names and task.name not in names:
        items = tuple(item for item in items if item.instance_id in names)
    return dataclasses.replace(task, instances=items)


def read_tasks(benchmark: Path) -> tuple[dict[str, Task], dict[str, InputError]]:
    """Return the readable tasks and the errors of the others, both by folder name."""
    tasks: dict[str, Task] = {}
    broken: dict[str, InputError] = {}
    for folder in task_folders(benchmark):
        try:
            tasks[folder.name] = load_task(folder)
        except InputError as error:
            broken[folder.name] = error
    return tasks, broken


def task_folders(benchmark: Path | None) -> list[Path]:
    """Return the sorted folders with a task.yaml; by default those of the installed benchmark."""
    benchmark = benchmark or benchmark_folder()
    folders = [path.parent for path in matching(benchmark, "*/task.yaml")]
    if not folders:
        raise InputError(
            f"{benchmark}: contains no task folders (NN-slug/task.yaml); "
            "`lmrbench tasks new SLUG` makes one"
        )
    return folders


def unknown_names(names: Iterable[str], benchmark: Path) -> InputError:
    """Return the error on names that no task has in the chosen configuration."""
    ids = places(benchmark)
    for name in sorted(names):
        if name in ids:
            problem = f"{name} belongs to the configuration {ids[name].config}"
            return ArgumentError("config", problem)
    known = {*ids, *(folder.name for folder in task_folders(benchmark))}
    named = ", ".join(f"{name}{did_you_mean(name, known)}" for name in sorted(names))
    return InputError(
        f"unknown task or instance: {named} (not in {benchmark}); see `lmrbench tasks "
        f"list{benchmark_option(benchmark)}`"
    )


def stated_ids(folder: Path) -> dict[str, str]:
    """Return instance id → configuration of a task, whose files may be malformed."""
    ids: dict[str, str] = {}
    with contextlib.suppress(InputError, AttributeError, TypeError, LookupError):
        for item in read_yaml(folder / "task.yaml")["implementations"]:
            ids[str(item.get("instance_id"))] = FUNCTION
        facts = read_yaml(folder / METHOD_FILE)
        ids[str(facts["instance_id"])] = METHOD
        for config in configurations_with("is_altered"):
            for index in range(len(facts.get(config, ()))):
                ids[altered_id(facts, config, index)] = config
    return ids


def places(benchmark: Path | None = None) -> dict[str, Place]:
    """Return instance id → place for all tasks."""
    ids: dict[str, Place] = {}
    for folder in task_folders(benchmark):
        for name, config in stated_ids(folder).items():
            ids[name] = Place(folder, config)
    return ids


def choose_config(names: Iterable[str], benchmark: Path | None) -> str:
    """Return the configuration of instances; the default one for folders and for a mixture."""
    ids = places(benchmark)
    configs = {ids[name].config for name in names if name in ids}
    return configs.pop() if len(configs) == 1 else FUNCTION


def choose_folders(names: Iterable[str], benchmark: Path | None) -> list[str]:
    """Return the folders of instances of any configuration; other names stay as they are."""
    ids = places(benchmark)
    return [ids[name].folder.name if name in ids else name for name in names]


def load_task(folder: Path, config: str = "") -> Task:
    """Load and validate one task folder.

    Args:
        config: configuration whose instances are checked; all if empty.
    """
    path = folder / "task.yaml"
    repo = read_tree(folder / "repo")
    data = read_yaml(path)
    check(data, "task.schema.json", path)
    if copy := next(filter(_COPY.search, repo), None):
        raise InputError(
            f"{folder / 'repo' / copy}: a copy that an editor left, which would show the "
            "reference; remove it"
        )
    implementations = tuple(map(_implementation, data.pop("implementations")))
    paper = read_text(folder / "paper.md")
    method, facts = read_method(folder)
    choices = read_choices(folder, facts.get("choices", {}), paper, method.goals if method else {})
    task = Task(
        folder=folder,
        instances=implementations,
        siblings=implementations,
        method=method,
        choices=choices,
        counterfactuals=tuple(read_counterfactuals(folder, facts, choices)),
        underspecified=tuple(read_underspecified(folder, facts, choices)),
        paper_source=paper,
        repo=repo,
        **data,
    )
    _check_instances(task, config)
    return task


def _check_instances(task: Task, config: str) -> None:
    """Check the instances of a configuration, or of all; a method stands for its variations."""
    ids = [item.instance_id for item in task.siblings]
    for index, name in enumerate(ids):
        if name in ids[:index]:
            place = f"{task.folder / 'task.yaml'}: implementations[{index}].instance_id"
            raise InputError(f"{place}: duplicate {name!r}")
    items: list[Instance] = [*task.siblings]
    if task.method is not None:
        items.append(task.method)
    for item in items:
        is_method = item.configuration.is_method
        if not config or CONFIGURATIONS[config].is_method == is_method:
            _check_instance(task, item, METHOD_FILE if is_method else "task.yaml")


def _check_instance(task: Task, item: Instance, file: str) -> None:
    if problem := next(_problems(task, item), ""):
        raise InputError(f"{task.folder / file}: {item.instance_id}: {problem}")


def _implementation(raw: Mapping[str, Any]) -> Implementation:
    return Implementation(
        **instance_facts(raw),
        goals={raw["goal_file"]: [raw["goal_function"]]},
        removed={raw["goal_file"]: raw.get("remove", [])},
        contract=raw["contract"].strip(),
        shown_siblings=raw.get("shown_siblings", {}),
    )


def _problems(task: Task, item: Instance) -> Iterator[str]:
    """Yield what is wrong with the files, names and passages of an instance."""
    files = {
        "context_files": item.context_files,
        "depends_on": item.depends_on,
        "goals" if item.configuration.is_method else "goal_file": item.goals,
        "remove": item.removed,
    }
    for key, names in files.items():
        for name in names:
            if name not in task.repo:
                yield f"{key}: no file {name!r} in repo/"
    yield from _problems_of_cases(task, item)
    yield from _problems_of_names(task, item)
    try:
        task.masked_repo(item)
    except SourceError as error:
        yield str(error)


def _problems_of_names(task: Task, item: Instance) -> Iterator[str]:
    others = {other.instance_id for other in task.siblings} - {item.instance_id}
    for name in item.shown_siblings:
        if name not in others:
            yield f"shown_siblings: {name!r} is not another instance of this paper"
    for path, goals in item.goals.items():
        for name in item.removed.get(path, ()):
            if any(f"{goal}.".startswith(f"{name}.") for goal in goals):
                yield f"remove: {name!r} is or contains a goal function, which stays"


def _problems_of_cases(task: Task, item: Instance) -> Iterator[str]:
    cases = task.folder / item.tests.file
    if not cases.is_file():
        yield f"tests.file: no file {item.tests.file!r} in {task.name}/"
    if cases.resolve().is_relative_to((task.folder / "repo").resolve()):
        yield "tests.file: models see repo/; move the cases out of it"
