"""Options of commands, made from settings, and the tasks and rows that they name."""

import functools
import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, get_origin

import typer
from pydantic.fields import FieldInfo

from lmrbench_data.base.errors import ArgumentError
from lmrbench_data.base.problems import Problem
from lmrbench_data.base.settings import Settings
from lmrbench_data.dataset.load import load_rows, rows_by_config
from lmrbench_data.dataset.rows import DatasetRow, choose_rows
from lmrbench_data.loader import FUNCTION
from lmrbench_data.tasks.drafts import load_finished
from lmrbench_data.tasks.task import Task
from lmrbench_data.tasks.task_folders import choose_config, load_tasks
from lmrbench_evaluate.runs.settings import JudgeSettings, RunSettings

from ..generation.settings import PromptSettings
from .flags import command_flags
from .output import print_err

#: Heading in the help of commands that only maintainers use.
MAINTAIN = "Maintain"


def options(
    settings: type[Settings], *, without: Sequence[str] = (), **changes: Any
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of a settings class in place of its parameter of that class.

    Args:
        without: fields that keep their defaults.
        changes: field → an `option(...)` that describes it instead.
    """
    fields = {
        name: changes.get(name, item)
        for name, item in _fields(settings).items()
        if name not in without
    }

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command)
        place = next(name for name, item in own.parameters.items() if item.annotation is settings)
        parameters: list[inspect.Parameter] = []
        for name, item in own.parameters.items():
            mine = [_parameter(settings, name, field) for name, field in fields.items()]
            parameters += mine if name == place else [item.replace(kind=item.KEYWORD_ONLY)]

        @functools.wraps(command)
        def call(**values: Any) -> None:
            command_flags.update({name: _flag(name, field) for name, field in fields.items()})
            chosen = {name: value for name in fields if (value := values.pop(name)) is not None}
            command(**values, **{place: settings.of(**chosen)})

        call.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
        call.__annotations__ = {item.name: item.annotation for item in parameters}
        return call

    return decorate


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
    declaration = _declaration(name, field)
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[kind, declaration],
    )


def _declaration(name: str, field: FieldInfo, flags: Sequence[str] = (), help: str = "") -> Any:
    limits = {
        short: getattr(part, key)
        for part in field.metadata
        for short, key in _LIMITS
        if hasattr(part, key)
    }
    facts, text = _facts(field), help or field.description or ""
    if get_origin(field.annotation) in (tuple, dict):
        text = f"{text[:-2]}; repeatable)." if text.endswith(").") else f"{text[:-1]} (repeatable)."
    if facts["argument"]:
        return typer.Argument(help=text, metavar=facts["metavar"])
    flags = flags or facts["flags"] or [_flag(name, field)]
    return typer.Option(*flags, help=text, metavar=facts["metavar"], **limits)


#: Limit of a typer option, and of a field.
_LIMITS = (("min", "ge"), ("max", "le"))

Track = Annotated[str, option_of(PromptSettings, "track")]
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
    """Load the named tasks, or all finished ones; print and return a warning for each draft that is left out."""
    drafts: list[Problem] = []
    if names:
        config = config or choose_config(names, benchmark)
        tasks = load_tasks(names, benchmark, config)
    else:
        config = config or FUNCTION
        tasks, drafts = load_finished(benchmark, config)
    loaded = {
        name
        for task in tasks
        for name in (task.name, *(item.instance_id for item in task.instances))
    }
    if without := [name for name in names or () if name not in loaded]:
        raise ArgumentError("config", f"{without[0]} has no instance of the configuration {config}")
    if not tasks:
        raise ArgumentError("config", f"no task has an instance of the configuration {config}")
    for draft in drafts:
        print_err(str(draft))
    return tasks, drafts


def chosen_row(instance: str, dataset: str, config: str | None = None) -> DatasetRow:
    """Load the row of an instance from a configuration, by default from any."""
    groups = (
        [load_rows(dataset, config, [instance])]
        if config
        else rows_by_config([instance], dataset).values()
    )
    rows = [row for group in groups for row in group]
    [row] = choose_rows(rows, [instance])
    return row
