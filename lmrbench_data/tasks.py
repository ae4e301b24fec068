"""Read and validate task folders: `benchmark/NN-slug/task.yaml` and the files it names.

A task that loads is well-formed; whether it is *sound* (golden passes, wrong variants fail) is proven by running it
(`lmrbench dataset check`).
"""

import functools
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from lmrbench_data.archive import read_tree
from lmrbench_data.errors import InputError
from lmrbench_data.loader import File
from lmrbench_data.masking import mask_function, remove_definition
from lmrbench_data.paths import benchmark_folder
from lmrbench_data.source import find_function

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
    tests: Tests
    depends_on: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()


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
    paper_text: str = field(repr=False)
    repo: Mapping[str, File] = field(repr=False)

    @property
    def name(self) -> str:
        """The folder's name, `NN-slug`."""
        return self.folder.name

    def golden_file(self, implementation: Implementation) -> str:
        """The whole goal file of the reference."""
        return self.repo[implementation.goal_file].data.decode("utf-8")

    def masked_repo(self, implementation: Implementation) -> dict[str, File]:
        """The repository as a model sees it: goal function masked, `remove`d helpers gone."""
        masked = mask_function(self.golden_file(implementation), implementation.goal_function)
        for name in implementation.remove:
            masked = remove_definition(masked, name)
        goal = self.repo[implementation.goal_file]
        return {**self.repo, implementation.goal_file: goal._replace(data=masked.encode("utf-8"))}

    def cases(self, implementation: Implementation) -> bytes:
        """The source of the labelled inputs."""
        return (self.folder / implementation.tests.file).read_bytes()

    def variants(self, implementation: Implementation, kind: str) -> list[Path]:
        """The files of `valid` or `wrong` variants, sorted."""
        return sorted((self.folder / "variants" / implementation.instance_id / kind).glob("*.py"))


def load_tasks(names: Iterable[str] = (), benchmark: Path | None = None) -> list[Task]:
    """Load task folders in order of their names.

    Args:
        names: folder names or instance ids to keep; all if empty.
        benchmark: the folder that holds them; the installed one if None.

    Raises:
        InputError: a task is malformed, an instance id stands twice, or a name is unknown.
    """
    benchmark = benchmark or benchmark_folder()
    folders = sorted(path.parent for path in benchmark.glob("*/task.yaml"))
    if not folders:
        raise InputError(f"{benchmark}: no task folders (NN-slug/task.yaml) in it")
    tasks = [load_task(folder) for folder in folders]
    owners: dict[str, Task] = {}
    for task in tasks:
        for implementation in task.implementations:
            other = owners.setdefault(implementation.instance_id, task)
            if other is not task:
                raise InputError(f"{task.folder}: instance_id {implementation.instance_id!r} is taken by {other.name}")
    wanted = set(names)
    if unknown := wanted - {task.name for task in tasks} - owners.keys():
        raise InputError(f"unknown task or instance: {', '.join(sorted(unknown))}; see `lmrbench tasks list`")
    if not wanted:
        return tasks
    return [task for task in tasks if task.name in wanted or any(owners[i] is task for i in wanted & owners.keys())]


def load_task(folder: Path) -> Task:
    """Load and validate one task folder.

    Raises:
        InputError: naming file, key and mend.
    """
    path = folder / "task.yaml"
    data = _read_yaml(path)
    for error in sorted(_validator().iter_errors(data), key=lambda error: (str(error.absolute_path), error.message)):
        raise InputError(f"{path}: {_where(error)}: {_explain(error)}")

    def implementation(raw: Mapping[str, Any]) -> Implementation:
        lists = {key: tuple(raw.get(key, ())) for key in ("context_files", "depends_on", "remove")}
        tests = Tests(**{**raw["tests"], "seeds": tuple(raw["tests"]["seeds"])})
        return Implementation(**{**raw, **lists, "tests": tests, "instruction": raw["instruction"].strip()})

    paper_path = folder / "paper.md"
    if not paper_path.is_file():
        raise InputError(f"{paper_path}: missing; write the method there in your own words")
    implementations = tuple(implementation(raw) for raw in data.pop("implementations"))
    task = Task(
        folder=folder,
        implementations=implementations,
        paper_text=paper_path.read_text(encoding="utf-8"),
        repo=read_tree(folder / "repo"),
        **data,
    )
    for item in implementations:
        _check_files(task, item, path)
    return task


def _check_files(task: Task, implementation: Implementation, path: Path) -> None:
    where = f"{path}: {implementation.instance_id}"
    for key in ("context_files", "depends_on"):
        for name in getattr(implementation, key):
            if name not in task.repo:
                raise InputError(f"{where}: {key}: no file {name!r} in repo/")
    if implementation.goal_file not in task.repo:
        raise InputError(f"{where}: goal_file: no file {implementation.goal_file!r} in repo/")
    if not (task.folder / implementation.tests.file).is_file():
        raise InputError(f"{where}: tests.file: no file {implementation.tests.file!r} in {task.name}/")
    if PurePosixPath(implementation.tests.file).parts[0] == "repo":
        raise InputError(f"{where}: tests.file: cases must not lie in repo/, models would see them")
    try:
        find_function(task.golden_file(implementation), implementation.goal_function)
        task.masked_repo(implementation)
    except (InputError, UnicodeDecodeError) as error:
        raise InputError(f"{where}: {implementation.goal_file}: {error}") from error


def _read_yaml(path: Path) -> dict[str, Any]:
    import yaml

    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: missing") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not YAML: {' '.join(str(error).split())}") from error
    if not isinstance(data, dict):
        raise InputError(f"{path}: a mapping is needed at the top; see CONTRIBUTING.md")
    return data


@functools.cache
def _validator() -> Any:
    import jsonschema

    schema = json.loads((Path(__file__).parent / "schema" / "task.schema.json").read_text(encoding="utf-8"))
    return jsonschema.Draft202012Validator(schema)


def _where(error: Any) -> str:
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.absolute_path)
    return place.lstrip(".") or "top level"


def _explain(error: Any) -> str:
    if error.validator == "additionalProperties":
        known = ", ".join(sorted(error.schema["properties"]))
        unknown = ", ".join(sorted(set(error.instance) - set(error.schema["properties"])))
        return f"unknown key {unknown}; known are {known}"
    if error.validator == "required":
        missing = ", ".join(key for key in error.validator_value if key not in error.instance)
        return f"missing key {missing}"
    if error.validator == "enum":
        return f"{error.instance!r} is not one of: {'; '.join(map(str, error.validator_value))}"
    return str(error.message)[:300]
