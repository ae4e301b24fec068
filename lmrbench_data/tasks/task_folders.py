"""Read and validate task folders: `benchmark/NN-slug/task.yaml` and the files that it names.

A task that loads is well-formed; `lmrbench dataset check` proves that it is *sound* (golden passes, wrong variants
fail).
"""

import dataclasses
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..base.archive import read_tree
from ..base.errors import InputError
from ..base.passages import read_passage
from ..base.paths import benchmark_folder, benchmark_option
from ..base.strict_yaml import check, read_yaml
from .masking import mask_function, remove_definition
from .task import Implementation, Task, Tests

#: Name of the schema of task.yaml.
SCHEMA = "task.schema.json"


def load_tasks(names: Iterable[str] = (), benchmark: Path | None = None) -> list[Task]:
    """Load tasks in order of their folders.

    Args:
        names: folder names or instance ids; all if empty. An instance id selects one implementation of its task. Errors
            of other tasks are ignored.
        benchmark: folder of the tasks; the installed one if None.

    Raises:
        InputError: a task is malformed, an instance id is a duplicate, or a name is unknown.
    """
    benchmark = benchmark or benchmark_folder()
    tasks, broken = read_tasks(benchmark)
    wanted = set(names)
    for name, error in broken.items():
        if not wanted or wanted & {name, *stated_ids(benchmark / name)}:
            raise error
    owners: dict[str, Task] = {}
    for task in tasks.values():
        for item in task.implementations:
            taken = owners.setdefault(item.instance_id, task) is not task
            if taken and (not wanted or wanted & {task.name, item.instance_id}):
                owner = f"{item.instance_id!r} is taken by {owners[item.instance_id].name}"
                raise InputError(f"{task.folder / 'task.yaml'}: instance_id: {owner}; choose another")
    if unknown := wanted - tasks.keys() - owners.keys():
        raise unknown_names(unknown, benchmark)
    if not wanted:
        return list(tasks.values())
    kept = []
    for task in tasks.values():
        items = tuple(item for item in task.implementations if {task.name, item.instance_id} & wanted)
        if items:
            kept.append(dataclasses.replace(task, implementations=items))
    return kept


def read_tasks(benchmark: Path) -> tuple[dict[str, Task], dict[str, InputError]]:
    """Return the readable tasks and the errors of the others, both by folder name.

    Raises:
        InputError: there is no task folder.
    """
    tasks: dict[str, Task] = {}
    broken: dict[str, InputError] = {}
    for folder in task_folders(benchmark):
        try:
            tasks[folder.name] = load_task(folder)
        except InputError as error:
            broken[folder.name] = error
    return tasks, broken


def task_folders(benchmark: Path) -> list[Path]:
    """Return the sorted folders with a task.yaml.

    Raises:
        InputError: there are none.
    """
    folders = sorted(path.parent for path in benchmark.glob("*/task.yaml"))
    if not folders:
        raise InputError(f"{benchmark}: contains no task folders (NN-slug/task.yaml); `lmrbench tasks new` drafts one")
    return folders


def unknown_names(names: Iterable[str], benchmark: Path) -> InputError:
    """Return the error on names that no task of a benchmark has."""
    listed = f"see `lmrbench tasks list{benchmark_option(benchmark)}`"
    return InputError(f"unknown task or instance: {', '.join(sorted(names))} (not in {benchmark}); {listed}")


def stated_ids(folder: Path) -> set[str]:
    """Return the instance ids in a task.yaml, which may be malformed."""
    try:
        items = read_yaml(folder / "task.yaml").get("implementations")
    except InputError:
        return set()
    items = items if isinstance(items, list) else []
    return {str(item.get("instance_id")) for item in items if isinstance(item, dict)}


def load_task(folder: Path) -> Task:
    """Load and validate one task folder.

    Raises:
        InputError: naming file, key and fix.
    """
    path = folder / "task.yaml"
    data = read_yaml(path)
    check(data, SCHEMA, path)
    return build_task(folder, data)


def build_task(folder: Path, data: dict[str, Any]) -> Task:
    """Build the task of a folder from its task.yaml, which has passed the schema.

    Raises:
        InputError: naming file, key and fix.
    """
    path = folder / "task.yaml"
    implementations = tuple(map(_implementation, data["implementations"]))
    task = Task(
        folder=folder,
        implementations=implementations,
        siblings=implementations,
        paper_text=_read_paper(folder / "paper.md"),
        repo=read_tree(folder / "repo"),
        **{key: value for key, value in data.items() if key != "implementations"},
    )
    for index, item in enumerate(implementations):
        if any(item.instance_id == other.instance_id for other in implementations[:index]):
            raise InputError(f"{path}: implementations[{index}].instance_id: duplicate {item.instance_id!r}")
        _check_files(task, item, f"{path}: {item.instance_id}")
    for item in implementations:
        files = task.masked_repo(item) if item.evidence else {}
        for reference in item.evidence:
            try:
                read_passage(files, reference)
            except InputError as error:
                raise InputError(f"{path}: {item.instance_id}: evidence: {error} (as models see repo/)") from error
    return task


def _implementation(raw: Mapping[str, Any]) -> Implementation:
    lists = {key: tuple(raw.get(key, ())) for key in ("context_files", "depends_on", "evidence", "remove")}
    tests = Tests(**{**raw["tests"], "seeds": tuple(raw["tests"]["seeds"])})
    texts = {key: raw[key].strip() for key in ("instruction", "contract")}
    return Implementation(**{**raw, **lists, **texts, "tests": tests})


def _read_paper(path: Path) -> str:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(f"{path}: missing; write the method there in your own words") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 ({error}); save it as UTF-8") from error
    if not text.strip():
        raise InputError(f"{path}: empty; write the method there in your own words")
    return text


def _check_files(task: Task, item: Implementation, where: str) -> None:
    """Check that the files and names of an implementation exist and that its cases are outside `repo/`.

    Raises:
        InputError: naming file, key and fix.
    """
    for key, names in {
        "context_files": item.context_files,
        "depends_on": item.depends_on,
        "goal_file": (item.goal_file,),
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
        raise InputError(f"{where}: shown_siblings: {min(unknown)!r} is not another instance of this paper")
    try:
        masked = mask_function(task.repo[item.goal_file].data.decode("utf-8"), item.goal_function)
    except UnicodeDecodeError as error:
        raise InputError(f"{where}: goal_file: {item.goal_file} is not UTF-8 ({error})") from error
    except InputError as error:
        raise InputError(f"{where}: goal_function: {item.goal_file}: {error}") from error
    for name in item.remove:
        if name == item.goal_function.partition(".")[0]:
            raise InputError(f"{where}: remove: {name!r} is or contains the goal function, which stays")
        try:
            masked = remove_definition(masked, name)
        except InputError as error:
            raise InputError(f"{where}: remove: {item.goal_file}: {error}") from error
