"""Options of commands, made from settings, and the tasks and rows that they name."""

import dataclasses
import functools
import inspect
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_origin

import typer

from lmrbench_evaluate.judge.settings import JudgeSettings
from lmrbench_evaluate.runs.settings import RunSettings

from ..base.settings import REQUIRED, Option, Settings, build, options_of
from ..chat.endpoint import Endpoint
from ..generation.settings import PromptSettings
from .output import say

if TYPE_CHECKING:
    from ..base.problems import Problem
    from ..dataset.rows import DatasetRow
    from ..tasks.task import Task

#: Argument of the Python API → flag, of the command that runs.
_flags: dict[str, str] = {}


def options(
    settings: type[Settings], *, without: Sequence[str] = (), **changes: Any
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of a settings class in place of its parameter of that class.

    Args:
        without: settings that keep their defaults.
        changes: name → a new default, or a `setting(...)` whose default and facts replace those of the field.
    """
    chosen = [option for option in options_of(settings, changes) if option.name not in without]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command)
        place = next(name for name, item in own.parameters.items() if item.annotation is settings)
        parameters: list[inspect.Parameter] = []
        for name, item in own.parameters.items():
            parameters += [_parameter(option, chosen) for option in chosen] if name == place else [item]

        @functools.wraps(command)
        def call(**values: Any) -> None:
            _flags.update({option.name: option.flag for option in chosen})
            mine = {option.name: values.pop(option.name) for option in chosen}
            command(**values, **{place: build(settings, mine)})

        keyword = inspect.Parameter.KEYWORD_ONLY
        call.__signature__ = own.replace(  # type: ignore[attr-defined]
            parameters=[item.replace(kind=keyword) for item in parameters]
        )
        call.__annotations__ = {item.name: item.annotation for item in parameters}
        return call

    return decorate


def option_of(settings: type[Settings], name: str, **changes: Any) -> Any:
    """One setting as an option of typer, for a command that takes no others of its class.

    Args:
        changes: facts that differ, such as `help`.
    """
    options = options_of(settings)
    option = next(option for option in options if option.name == name)
    return _declaration(dataclasses.replace(option, **changes), options)


def flag_of(argument: str) -> str:
    """The flag for an argument of the Python API."""
    return _flags.get(argument, f"--{argument.replace('_', '-')}")


def _parameter(option: Option, others: Sequence[Option]) -> inspect.Parameter:
    """A parameter of a command, as typer reads it."""
    kind, default = (list[str] | None, None) if _is_list(option) else (option.type, option.default)
    return inspect.Parameter(
        option.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if default is REQUIRED else default,
        annotation=Annotated[kind, _declaration(option, others)],
    )


def _declaration(option: Option, others: Sequence[Option]) -> Any:
    flags = {other.name: other.flag for other in others}
    text = re.sub(r"`([^`]+)`", lambda found: flags.get(found[1], found[0]), option.text())
    if _is_list(option):
        text = f"{text[:-2]}; repeatable)." if text.endswith(").") else f"{text[:-1]} (repeatable)."
    facts: dict[str, Any] = {"help": text, "min": option.min, "max": option.max, "metavar": option.metavar}
    return typer.Argument(**facts) if option.argument else typer.Option(*option.flags, **facts)


def _is_list(option: Option) -> bool:
    return get_origin(option.types[0]) is Sequence


Track = Annotated[str, option_of(PromptSettings, "track")]
DatasetSpec = Annotated[str, option_of(PromptSettings, "dataset")]
MovedDataset = Annotated[str | None, option_of(JudgeSettings, "dataset")]
Workers = Annotated[int, option_of(RunSettings, "workers", help="Number of parallel sandboxes.")]
BaseUrl = Annotated[str | None, option_of(Endpoint, "base_url")]
BenchmarkFolder = Annotated[
    Path | None,
    typer.Option("--benchmark", help="Folder of tasks (default: the installed one).", exists=True, file_okay=False),
]
Sandbox = Annotated[str, typer.Option("--sandbox", help="Sandbox: auto, docker, bwrap, local, or package.module:name.")]
Config = Annotated[str, option_of(PromptSettings, "config")]
TaskNames = Annotated[list[str] | None, typer.Argument(help="Task folders or instance ids (default: all).")]
JudgeModel = Annotated[str | None, typer.Option("--judge-model", help="Judge to show (default: the most recent one).")]
BuildNetwork = Annotated[str | None, typer.Option("--network", help="Network for build steps, such as host.")]
Labels = Annotated[Path | None, typer.Option("--labels", help="Human labels of the answers (.csv, .jsonl).")]
Notes = Annotated[bool, typer.Option("--notes", help="Also print notes on how to read the numbers.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]


def tasks_and_drafts(
    names: list[str] | None, benchmark: Path | None, config: str = "function"
) -> "tuple[list[Task], list[Problem]]":
    """Load the named tasks, or all finished ones; print and return a warning for each draft that is left out.

    Raises:
        InputError: a task is malformed, a name is unknown, or all tasks are drafts.
    """
    from ..tasks.drafts import load_finished
    from ..tasks.task_folders import load_tasks

    if names:
        return load_tasks(names, benchmark, config), []
    tasks, drafts = load_finished(benchmark, config)
    for draft in drafts:
        say(str(draft))
    return tasks, drafts


def chosen_row(instance: str, dataset: str) -> "DatasetRow":
    """Load the row of an instance from any configuration.

    Raises:
        InputError: the dataset has no such instance.
        LoadError: there is no such dataset.
    """
    from ..dataset.rows import choose_rows

    rows = [row for found in rows_by_config([instance], dataset).values() for row in found]
    with positional():
        [row] = choose_rows(rows, [instance])
    return row


def rows_by_config(instances: Collection[str], dataset: str) -> "dict[str, list[DatasetRow]]":
    """Load one configuration after the other until these instances, which may be unknown, are found.

    Raises:
        LoadError: there is no such dataset.
    """
    from ..dataset.load import load_rows
    from ..loader import NoConfigError
    from ..tasks.task import CONFIGS

    found: dict[str, list[DatasetRow]] = {}
    missing = set(instances)
    for config in CONFIGS:
        with suppress(NoConfigError):
            found[config] = load_rows(dataset, config)
            missing -= {row["instance_id"] for row in found[config]}
        if not missing:
            break
    return found


@contextmanager
def positional() -> Iterator[None]:
    """Report an error about an argument that has no flag without naming one."""
    from ..base.errors import ArgumentError, InputError

    try:
        yield
    except ArgumentError as error:
        raise InputError(error.problem) from None
