"""Read and validate task folders: `benchmark/NN-slug/task.yaml` and the files it names.

A task that loads is well-formed; whether it is *sound* (golden passes, wrong variants fail) is proven by running it
(`lmrbench dataset check`).
"""

import dataclasses
import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..base.archive import read_tree
from ..base.errors import InputError
from ..base.passages import path_of, read_passage
from ..base.paths import benchmark_folder, benchmark_option, has_variants
from ..base.strict_yaml import check, read_yaml
from ..loader import File
from .environments import load_environments
from .masking import mask_function, remove_definition

#: Folder of a task that holds what its references returned.
RECORDED = "recorded"
#: Of task.yaml.
SCHEMA = "task.schema.json"


@dataclass(frozen=True)
class Tests:
    """How an instance is tested."""

    file: str
    seeds: tuple[int, ...]
    timeout_s: int
    """Wall time for all cases and seeds together, start-up of the interpreter included."""
    memory_mb: int


@dataclass(frozen=True)
class Implementation:
    """One goal function of a task: one row of the dataset."""

    instance_id: str
    category: str
    goal_file: str
    goal_function: str
    context_files: tuple[str, ...]
    instruction: str
    """What an author of the paper would ask of a colleague; shown in every track."""
    contract: str
    """Every convention that paper and repository leave open; shown in the contract track."""
    tests: Tests
    depends_on: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    """Passages of the repository that decide what a judge could doubt, as `passages.read_passage` reads them."""
    remove: tuple[str, ...] = ()
    equivalent_mutants: Mapping[str, str] = field(default_factory=dict)
    """Mutants that behave like the reference (`dataset check --mutants` names them), each with the reason."""
    shown_siblings: Mapping[str, str] = field(default_factory=dict)
    """Instances of the same paper whose goal functions this one calls, each with the reason; all others are masked."""


@dataclass(frozen=True)
class Task:
    """A paper with its reference repository and one or more goal functions."""

    folder: Path
    paper: Mapping[str, Any]
    upstream_repo: str
    repo_name: str
    license: str
    environment: str
    demo_command: str
    implementations: tuple[Implementation, ...]
    """Those that were asked for."""
    siblings: tuple[Implementation, ...] = field(repr=False)
    """All of the paper."""
    paper_text: str = field(repr=False)
    repo: Mapping[str, File] = field(repr=False)

    @property
    def name(self) -> str:
        """The folder's name, `NN-slug`."""
        return self.folder.name

    @functools.cached_property
    def image_tag(self) -> str:
        """The tag of the image that the task's code runs in; read once, like the repository.

        Raises:
            InputError: the task names no known environment.
        """
        environment = load_environments(self.folder.parent).get(self.environment)
        if environment is None:
            raise InputError(f"{self.folder / 'task.yaml'}: environment: no folder environments/{self.environment}")
        return environment.tag

    def golden_repo(self, implementation: Implementation) -> dict[str, File]:
        """The repository with the goal function in it; those of siblings are masked unless `shown_siblings` names them.

        What one instance shows must not answer another.
        """
        repo = dict(self.repo)
        for other in self.siblings:
            if other.instance_id not in {implementation.instance_id, *implementation.shown_siblings}:
                _mask(repo, other)
        return repo

    def golden_file(self, implementation: Implementation) -> str:
        """The whole goal file of the reference, siblings masked as in `golden_repo`."""
        return self.golden_repo(implementation)[implementation.goal_file].data.decode("utf-8")

    def masked_repo(self, implementation: Implementation) -> dict[str, File]:
        """The repository as a model sees it: goal functions masked, `remove`d helpers gone."""
        repo = self.golden_repo(implementation)
        _mask(repo, implementation)
        return repo

    def evidence(self, implementation: Implementation) -> list[str]:
        """The passages that a judge is shown: those named as evidence, and configs and texts that a solution needs."""
        named = set(map(path_of, implementation.evidence))
        others = [name for name in implementation.depends_on if not name.endswith(".py") and name not in named]
        return [*implementation.evidence, *others]

    def cases(self, implementation: Implementation) -> bytes:
        """The source of the labelled inputs."""
        return (self.folder / implementation.tests.file).read_bytes()

    def variants(self, implementation: Implementation, kind: str) -> list[Path]:
        """The files of `valid`, `plain`, `careless` or `wrong` variants, sorted.

        Raises:
            InputError: the task is that of a wheel, which has no variants.
        """
        if not has_variants(self.folder.parent):
            raise InputError("variants are in a checkout only: git clone https://github.com/lmr-bench/lmr-bench")
        return sorted((self.folder / "variants" / implementation.instance_id / kind).glob("*.py"))


def _mask(repo: dict[str, File], implementation: Implementation) -> None:
    """Mask an implementation's goal function in `repo`, and take out the helpers that go with it."""
    goal = repo[implementation.goal_file]
    masked = mask_function(goal.data.decode("utf-8"), implementation.goal_function)
    for name in implementation.remove:
        masked = remove_definition(masked, name)
    repo[implementation.goal_file] = goal._replace(data=masked.encode("utf-8"))


def load_tasks(names: Iterable[str] = (), benchmark: Path | None = None) -> list[Task]:
    """Load task folders in order of their names.

    Args:
        names: folder names or instance ids to keep; all if empty. A task of which only instances are named has those.
            What is wrong with tasks that were not named is no obstacle.
        benchmark: the folder that holds them; the installed one if None.

    Raises:
        InputError: a task is malformed, a duplicate instance id, or a name is unknown.
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
    """(the tasks that can be read, why the others cannot), both by folder name.

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
    """The folders that hold a task.yaml, sorted.

    Raises:
        InputError: there are none.
    """
    folders = sorted(path.parent for path in benchmark.glob("*/task.yaml"))
    if not folders:
        raise InputError(f"{benchmark}: no task folders (NN-slug/task.yaml) in it; `lmrbench tasks new` drafts one")
    return folders


def unknown_names(names: Iterable[str], benchmark: Path) -> InputError:
    """The error on names that no task of a benchmark has."""
    listed = f"see `lmrbench tasks list{benchmark_option(benchmark)}`"
    return InputError(f"unknown task or instance: {', '.join(sorted(names))} (not in {benchmark}); {listed}")


def stated_ids(folder: Path) -> set[str]:
    """The instance ids that a task.yaml names, as far as it can be read."""
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
    return task_of(folder, data)


def task_of(folder: Path, data: dict[str, Any]) -> Task:
    """The task of a folder whose task.yaml was read and has the form of the schema.

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
    """The files and names that an implementation refers to are there, and cases are not where models see them."""
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
        raise InputError(f"{where}: tests.file: cases must not lie in repo/, models would see them")
    others = {other.instance_id for other in task.siblings} - {item.instance_id}
    if unknown := item.shown_siblings.keys() - others:
        raise InputError(f"{where}: shown_siblings: {min(unknown)!r} is no other instance of this paper")
    try:
        masked = mask_function(task.repo[item.goal_file].data.decode("utf-8"), item.goal_function)
    except UnicodeDecodeError as error:
        raise InputError(f"{where}: goal_file: {item.goal_file} is not UTF-8 ({error})") from error
    except InputError as error:
        raise InputError(f"{where}: goal_function: {item.goal_file}: {error}") from error
    for name in item.remove:
        if name == item.goal_function.partition(".")[0]:
            raise InputError(f"{where}: remove: {name!r} is or holds the goal function, which stays")
        try:
            masked = remove_definition(masked, name)
        except InputError as error:
            raise InputError(f"{where}: remove: {item.goal_file}: {error}") from error
