"""Options of commands: those made from settings, those that several commands share; the tasks and rows they name."""

import functools
import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_origin

import typer

from ..base.settings import REQUIRED, Option, Settings, build, options_of
from .output import say

if TYPE_CHECKING:
    from ..base.problems import Problem
    from ..dataset.rows import DatasetRow
    from ..tasks.task import Task

Track = Annotated[str, typer.Option("--track", help="'paper', or 'contract' to also show the contract.")]
BenchmarkFolder = Annotated[
    Path | None,
    typer.Option("--benchmark", help="Folder of tasks (default: the installed one).", exists=True, file_okay=False),
]
DatasetSpec = Annotated[str, typer.Option("--dataset", help="embedded, a folder, or org/name[@revision].")]
MovedDataset = Annotated[
    str | None, typer.Option("--dataset", help="New place of the dataset, if it has moved since the evaluation.")
]

#: Argument of the Python API → flag, of the command that runs.
_flags: dict[str, str] = {}


def options(
    settings: type[Settings], *, without: Sequence[str] = (), **changes: Any
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of a settings class; it receives one settings object in their place.

    The options stand where the command has a parameter of that class.

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


def flag_of(argument: str) -> str:
    """The flag for an argument of the Python API."""
    return _flags.get(argument, f"--{argument.replace('_', '-')}")


def _parameter(option: Option, others: Sequence[Option]) -> inspect.Parameter:
    """A parameter of a command, as typer reads it."""
    flags = {other.name: other.flag for other in others}
    text = re.sub(r"`([^`]+)`", lambda found: flags.get(found[1], found[1]), option.text())
    kind, default = option.type, option.default
    facts: dict[str, Any] = {"help": text, "min": option.min, "max": option.max, "metavar": option.metavar}
    if get_origin(option.types[0]) is Sequence:
        kind, default = list[str] | None, None
        facts["help"] = f"{text[:-2]}; repeatable)." if text.endswith(").") else f"{text[:-1]} (repeatable)."
    made = typer.Argument(**facts) if option.argument else typer.Option(*option.flags, **facts)
    default = inspect.Parameter.empty if default is REQUIRED else default
    return inspect.Parameter(
        option.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, made]
    )


def tasks_and_drafts(names: list[str] | None, benchmark: Path | None) -> "tuple[list[Task], list[Problem]]":
    """Load the named tasks, or all finished ones; print and return a warning for each draft that is left out.

    Raises:
        InputError: a task is malformed, a name is unknown, or there are only drafts.
    """
    from ..tasks.drafts import load_finished
    from ..tasks.task_folders import load_tasks

    if names:
        return load_tasks(names, benchmark), []
    tasks, drafts = load_finished(benchmark)
    for draft in drafts:
        say(str(draft))
    return tasks, drafts


def chosen_row(instance: str, dataset: str) -> "DatasetRow":
    """Return the row of an instance.

    Raises:
        InputError: the dataset has none of that name.
        LoadError: no such dataset.
    """
    from ..dataset.rows import choose_rows
    from ..loader import load_rows

    with positional():
        [row] = choose_rows(load_rows(dataset), [instance])
    return row


@contextmanager
def positional() -> Iterator[None]:
    """Report an error about an argument that has no flag without naming one."""
    from ..base.errors import ArgumentError, InputError

    try:
        yield
    except ArgumentError as error:
        raise InputError(error.problem) from None
