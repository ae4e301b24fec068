"""Options of commands, made from settings, and the tasks and rows that they name."""

import functools
import inspect
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, get_origin

import typer
from pydantic.fields import FieldInfo

from lmrbench_data.base import proportions
from lmrbench_data.base.errors import ArgumentError
from lmrbench_data.base.settings import Settings
from lmrbench_data.dataset.load import load_rows, rows_by_config
from lmrbench_data.dataset.rows import DatasetRow, choose_rows
from lmrbench_data.loader import FUNCTION
from lmrbench_data.tasks.drafts import load_finished
from lmrbench_data.tasks.problems import Problem
from lmrbench_data.tasks.task import Task
from lmrbench_data.tasks.task_folders import choose_config, load_tasks
from lmrbench_evaluate.runs.settings import JudgeSettings, RunSettings

from ..generation.settings import PromptSettings
from .flags import command_flags
from .output import print_err

#: Heading in the help of commands that only maintainers use.
#: The published dataset of the benchmark.
DATASET = "lmr-bench/lmr-bench"
MAINTAIN = "Maintain"


def options(
    settings: type[Settings], *, without: Sequence[str] = (), **changes: Any
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of a settings class in place of its parameter of that class.

    Args:
        without: fields that keep their defaults.
        changes: field → an `option(...)` that describes it instead.
    """
    fields = _fields(settings) | changes
    for name in without:
        fields.pop(name)
    return functools.partial(_decorate, settings, fields)


def _decorate(
    settings: type[Settings], fields: Mapping[str, FieldInfo], command: Callable[..., None]
) -> Callable[..., None]:
    signature = inspect.signature(command)
    place = _place_of(settings, signature)
    parameters = list(_parameters(signature, settings, fields))

    @functools.wraps(command)
    def call(**values: Any) -> None:
        chosen = _take_options(fields, values)
        command(**values, **{place: settings.of(**chosen)})

    call.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {item.name: item.annotation for item in parameters}
    return call


def _place_of(settings: type[Settings], signature: inspect.Signature) -> str:
    """Return the name of the parameter of this class."""
    parameters = signature.parameters.values()
    [name] = [item.name for item in parameters if item.annotation is settings]
    return name


def _parameters(
    signature: inspect.Signature, settings: type[Settings], fields: Mapping[str, FieldInfo]
) -> Iterator[inspect.Parameter]:
    """Yield the parameters of a command, with options in place of the one of this class."""
    for parameter in signature.parameters.values():
        if parameter.annotation is settings:
            for name, field in fields.items():
                yield _parameter(settings, name, field)
        else:
            yield parameter.replace(kind=parameter.KEYWORD_ONLY)


def _take_options(fields: Mapping[str, FieldInfo], values: dict[str, Any]) -> dict[str, Any]:
    """Move the options that were given out of the values of a command."""
    chosen = {}
    for name, field in fields.items():
        command_flags[name] = _flag(name, field)
        value = values.pop(name)
        if value is not None:
            chosen[name] = value
    return chosen


def option_of(settings: type[Settings], name: str, *flags: str, help: str = "") -> Any:
    """One field as an option of typer, for a command that takes no others of its class."""
    return _declaration(name, settings.model_fields[name], flags, help)


def _fields(settings: type[Settings]) -> dict[str, FieldInfo]:
    """Return the fields: required ones first, those of a class before those of its bases."""
    names = dict.fromkeys(
        name for owner in settings.__mro__ for name in inspect.get_annotations(owner)
    )
    fields = {name: settings.model_fields[name] for name in names if name in settings.model_fields}
    return dict(sorted(fields.items(), key=lambda item: not item[1].is_required()))


def _facts(field: FieldInfo) -> dict[str, Any]:
    assert isinstance(field.json_schema_extra, dict)
    return field.json_schema_extra


def _flag(name: str, field: FieldInfo) -> str:
    """Return the flag that messages show, or the name of an argument."""
    facts = _facts(field)
    if facts["argument"]:
        return str(facts["metavar"] or name.upper())
    return str((facts["flags"] or [f"--{name.replace('_', '-')}"])[0])


def _parameter(settings: type[Settings], name: str, field: FieldInfo) -> inspect.Parameter:
    """Return a parameter of a command, as typer reads it."""
    kind: Any = settings.model_fields[name].annotation
    default = inspect.Parameter.empty if field.is_required() else field.default
    if get_origin(kind) in (tuple, dict):
        kind, default = list[str] | None, None
    annotation = Annotated[kind, _declaration(name, field)]
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )


def _declaration(name: str, field: FieldInfo, flags: Sequence[str] = (), help: str = "") -> Any:
    facts = _facts(field)
    help = help or field.description or ""
    if get_origin(field.annotation) in (tuple, dict):
        help = _as_repeatable(help)
    if facts["argument"]:
        return typer.Argument(help=help, metavar=facts["metavar"])
    flags = flags or facts["flags"] or [_flag(name, field)]
    return typer.Option(*flags, help=help, metavar=facts["metavar"], **_limits(field))


def _limits(field: FieldInfo) -> dict[str, Any]:
    limits = {}
    for part in field.metadata:
        if hasattr(part, "ge"):
            limits["min"] = part.ge
        if hasattr(part, "le"):
            limits["max"] = part.le
    return limits


def _as_repeatable(help: str) -> str:
    if help.endswith(")."):
        return f"{help[:-2]}; repeatable)."
    return f"{help[:-1]} (repeatable)."


Track = Annotated[proportions.Track, option_of(PromptSettings, "track")]
DatasetSpec = Annotated[str, option_of(PromptSettings, "dataset")]
MovedDataset = Annotated[str | None, option_of(JudgeSettings, "dataset")]
Workers = Annotated[int, option_of(RunSettings, "workers", help="Number of parallel sandboxes.")]
Config = Annotated[str, option_of(PromptSettings, "config")]
ConfigOfNames = Annotated[
    str | None,
    option_of(
        PromptSettings,
        "config",
        help="Configuration (default: that of the named instances, else function).",
    ),
]
BenchmarkFolder = Annotated[
    Path | None,
    typer.Option(
        "--benchmark",
        help="Folder of tasks (default: the installed one).",
        exists=True,
        file_okay=False,
    ),
]
SandboxKind = Annotated[
    str,
    typer.Option(
        "--sandbox",
        help="Where tested code runs (auto: the first that works).",
        metavar="<auto|docker|bwrap|local|MODULE:NAME>",
    ),
]
TaskNames = Annotated[
    list[str] | None, typer.Argument(help="Task folders or instance ids (default: all).")
]
JudgeModel = Annotated[
    str | None, typer.Option("--judge-model", help="Judge to show (default: the most recent one).")
]
Labels = Annotated[
    Path | None, typer.Option("--labels", help="Human labels of the answers (.csv, .jsonl).")
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]


def tasks_and_drafts(
    names: list[str] | None, benchmark: Path | None, config: str | None = None
) -> tuple[list[Task], list[Problem]]:
    """Load the named tasks, or all finished ones; print and return a warning for each draft."""
    if names:
        config = config or choose_config(names, benchmark)
        return _named_tasks(names, benchmark, config), []
    config = config or FUNCTION
    tasks, drafts = load_finished(benchmark, config)
    _check_any(tasks, config)
    for draft in drafts:
        print_err(str(draft))
    return tasks, drafts


def _named_tasks(names: list[str], benchmark: Path | None, config: str) -> list[Task]:
    tasks = load_tasks(names, benchmark, config)
    _check_loaded(names, tasks, config)
    _check_any(tasks, config)
    return tasks


def _check_any(tasks: Sequence[Task], config: str) -> None:
    if not tasks:
        raise ArgumentError("config", f"no task has an instance of the configuration {config}")


def _check_loaded(names: list[str], tasks: Sequence[Task], config: str) -> None:
    """Check that each name is that of a loaded task or of one of its instances."""
    loaded = {task.name for task in tasks}
    for task in tasks:
        loaded.update(instance.instance_id for instance in task.instances)
    for name in names:
        if name not in loaded:
            raise ArgumentError("config", f"{name} has no instance of the configuration {config}")


def chosen_row(instance: str, dataset: str, config: str | None = None) -> DatasetRow:
    """Load the row of an instance from a configuration, by default from any."""
    if config:
        rows = load_rows(dataset, config, [instance])
    else:
        configs = rows_by_config([instance], dataset)
        rows = list(itertools.chain.from_iterable(configs.values()))
    [row] = choose_rows(rows, [instance])
    return row
