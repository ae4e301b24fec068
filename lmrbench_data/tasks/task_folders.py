"""Read and validate task folders: `benchmark/NN-slug/task.yaml` and the files that it names.

A task that loads is well-formed; `lmrbench dataset check` proves that it is *sound* (golden passes, wrong variants
fail).
"""

import contextlib
import dataclasses
import re
from collections.abc import Iterable, Mapping, Set
from pathlib import Path
from typing import Any

from ..base.archive import matching, read_tree
from ..base.errors import ArgumentError, InputError
from ..base.paths import benchmark_folder, benchmark_option
from ..base.source import SourceError
from ..base.strict_yaml import check, read_yaml
from ..base.suggestions import did_you_mean
from ..loader import CONFIGS, COUNTERFACTUAL, FUNCTION, METHOD, UNDERSPECIFIED
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
    r"(^|/)(\.ipynb_checkpoints/|\.history/|#[^/]*#$|\.[^/]*\.sw[a-p]$)|(~|\.(bak|old|orig|rej|save|tmp))$"
)


def load_tasks(
    names: Iterable[str] = (), benchmark: Path | None = None, config: str = FUNCTION
) -> list[Task]:
    """Load tasks in order of their folders.

    Args:
        names: folder names or instance ids; all if empty. An instance id selects one instance of its task. Errors of
            other tasks are ignored.
        benchmark: folder of the tasks; the installed one if None.
        config: configuration of the dataset, one of `CONFIGS`; tasks without an instance of it are left out.
    """
    if config not in CONFIGS:
        raise ArgumentError("config", f"{config!r} is unknown; one of: {', '.join(CONFIGS)}")
    benchmark = benchmark or benchmark_folder()
    wanted = set(names)
    tasks, broken = read_tasks(benchmark, wanted, config)
    for name, error in broken.items():
        if not wanted or wanted & {name, *stated_ids(benchmark / name)}:
            raise error
    owners: dict[str, Task] = {}
    for task in tasks.values():
        for item in task.every_instance:
            taken = owners.setdefault(item.instance_id, task) is not task
            if taken and (not wanted or wanted & {task.name, item.instance_id}):
                owner = f"{item.instance_id!r} is taken by {owners[item.instance_id].name}"
                raise InputError(
                    f"{task.folder / 'task.yaml'}: instance_id: {owner}; choose another"
                )
    chosen = []
    for task in tasks.values():
        every = task.instances_of(config)
        items = tuple(
            item for item in every if not wanted or {task.name, item.instance_id} & wanted
        )
        if items:
            chosen.append(dataclasses.replace(task, instances=items))
    known = {item.instance_id for task in chosen for item in task.instances}
    if unknown := wanted - tasks.keys() - known:
        raise unknown_names(unknown, benchmark)
    return chosen


def read_tasks(
    benchmark: Path, wanted: Set[str] = frozenset(), config: str = ""
) -> tuple[dict[str, Task], dict[str, InputError]]:
    """Return the readable tasks and the errors of the others, both by folder name.

    Args:
        wanted: if all are instance ids, tasks that name none of them are left out, because reading a task takes a
            while.
        config: configuration whose instances are checked; all if empty.
    """
    tasks: dict[str, Task] = {}
    broken: dict[str, InputError] = {}
    folders = task_folders(benchmark)
    if wanted and wanted.isdisjoint(folder.name for folder in folders):
        texts = {folder: _texts(folder) for folder in folders}
        if all(any(name in text for text in texts.values()) for name in wanted):
            folders = [
                folder for folder, text in texts.items() if any(name in text for name in wanted)
            ]
    for folder in folders:
        try:
            tasks[folder.name] = load_task(folder, config)
        except InputError as error:
            broken[folder.name] = error
    return tasks, broken


def task_folders(benchmark: Path | None) -> list[Path]:
    """Return the sorted folders with a task.yaml; by default those of the installed benchmark."""
    benchmark = benchmark or benchmark_folder()
    folders = [path.parent for path in matching(benchmark, "*/task.yaml")]
    if not folders:
        raise InputError(
            f"{benchmark}: contains no task folders (NN-slug/task.yaml); `lmrbench tasks new SLUG` makes one"
        )
    return folders


def _texts(folder: Path) -> str:
    """Return the files in which a task names its instances."""
    files = (folder / name for name in ("task.yaml", METHOD_FILE))
    return "".join(file.read_text("utf-8", errors="replace") for file in files if file.is_file())


def unknown_names(names: Iterable[str], benchmark: Path) -> InputError:
    """Return the error on names that no task of a benchmark has in the chosen configuration."""
    ids = configs_by_id(benchmark)
    listed = f"see `lmrbench tasks list{benchmark_option(benchmark)}`"
    for name in sorted(names):
        if name in ids:
            return ArgumentError("config", f"{name} belongs to the configuration {ids[name]}")
    known = {*ids, *(folder.name for folder in task_folders(benchmark))}
    named = ", ".join(f"{name}{did_you_mean(name, known)}" for name in sorted(names))
    return InputError(f"unknown task or instance: {named} (not in {benchmark}); {listed}")


def stated_ids(folder: Path) -> dict[str, str]:
    """Return instance id → configuration of a task, whose files may be malformed."""
    ids: dict[str, str] = {}
    with contextlib.suppress(InputError, AttributeError, TypeError):
        ids |= {
            str(item.get("instance_id")): FUNCTION
            for item in read_yaml(folder / "task.yaml")["implementations"]
        }
        facts = read_yaml(folder / METHOD_FILE)
        ids[str(facts["instance_id"])] = METHOD
        for config in (COUNTERFACTUAL, UNDERSPECIFIED):
            ids |= {
                altered_id(facts, config, number): config
                for number in range(1, len(facts.get(config, ())) + 1)
            }
    return ids


def configs_by_id(benchmark: Path | None = None) -> dict[str, str]:
    """Return instance id → configuration of all tasks."""
    return {
        name: config
        for folder in task_folders(benchmark)
        for name, config in stated_ids(folder).items()
    }


def choose_config(names: Iterable[str], benchmark: Path | None = None) -> str:
    """Return the configuration of these instances, if they are all of one; `function` for folders and a mixture."""
    ids = configs_by_id(benchmark)
    configs = {ids[name] for name in names if name in ids}
    return configs.pop() if len(configs) == 1 else FUNCTION


def choose_folders(names: Iterable[str], benchmark: Path | None = None) -> list[str]:
    """Return the folders of instances of any configuration; other names stay as they are."""
    owners = {
        name: folder.name for folder in task_folders(benchmark) for name in stated_ids(folder)
    }
    return [owners.get(name, name) for name in names]


def load_task(folder: Path, config: str = "") -> Task:
    """Load and validate one task folder; check the instances of one configuration, or of all."""
    path, repo = folder / "task.yaml", read_tree(folder / "repo")
    data = read_yaml(path)
    check(data, "task.schema.json", path)
    if copy := next(filter(_COPY.search, repo), None):
        raise InputError(
            f"{folder / 'repo' / copy}: a copy that an editor left, which would show the reference; remove it"
        )
    implementations = tuple(map(_implementation, data["implementations"]))
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
        **{key: value for key, value in data.items() if key != "implementations"},
    )
    for index, item in enumerate(implementations):
        if any(item.instance_id == other.instance_id for other in implementations[:index]):
            raise InputError(
                f"{path}: implementations[{index}].instance_id: duplicate {item.instance_id!r}"
            )
        if config in ("", FUNCTION):
            _check_files(task, item, f"{path}: {item.instance_id}")
    if task.method and config != FUNCTION:
        _check_files(task, task.method, f"{folder / METHOD_FILE}: {task.method.instance_id}")
    return task


def _implementation(raw: Mapping[str, Any]) -> Implementation:
    return Implementation(
        **instance_facts(raw),
        goals={raw["goal_file"]: [raw["goal_function"]]},
        removed={raw["goal_file"]: raw.get("remove", [])},
        contract=raw["contract"].strip(),
        shown_siblings=raw.get("shown_siblings", {}),
    )


def _check_files(task: Task, item: Instance, where: str) -> None:
    """Check that the files, names and passages of an instance exist, and that its cases are outside `repo/`."""
    for key, names in {
        "context_files": item.context_files,
        "depends_on": item.depends_on,
        "goals" if item.configuration.is_method else "goal_file": item.goals,
        "remove": item.removed,
    }.items():
        if missing := [name for name in names if name not in task.repo]:
            raise InputError(f"{where}: {key}: no file {missing[0]!r} in repo/")
    cases = task.folder / item.tests.file
    if not cases.is_file():
        raise InputError(f"{where}: tests.file: no file {item.tests.file!r} in {task.name}/")
    if cases.resolve().is_relative_to((task.folder / "repo").resolve()):
        raise InputError(f"{where}: tests.file: models see repo/; move the cases out of it")
    others = {other.instance_id for other in task.siblings} - {item.instance_id}
    if unknown := item.shown_siblings.keys() - others:
        raise InputError(
            f"{where}: shown_siblings: {min(unknown)!r} is not another instance of this paper"
        )
    for path, removed in item.removed.items():
        for name in removed:
            if any(f"{goal}.".startswith(f"{name}.") for goal in item.goals.get(path, ())):
                raise InputError(
                    f"{where}: remove: {name!r} is or contains a goal function, which stays"
                )
    try:
        task.masked_repo(item)
    except SourceError as error:
        raise InputError(f"{where}: {error}") from error
