"""Help of the command line: commands under headings, as are the options of long commands."""

import functools
from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from lmrbench_data.chat.endpoint import RequestSettings
from lmrbench_evaluate.runs.settings import EvaluationSettings

from ..generation.settings import PromptSettings

#: The order of commands in the help of the program.
ORDER: list[str] = []
_SELECTION = {"dataset", "config", "instances", "limit"}
#: Heading → names of its options; the others are under "Options".
_PANELS = {
    "Model": RequestSettings.model_fields.keys() - _SELECTION,
    "Agent": {"agent", "agent_files", "max_steps", "cpu_budget"},
    "Prompt": PromptSettings.model_fields.keys() - _SELECTION,
    "Sampling": {"samples", "temperature", *_SELECTION},
    "Evaluation": {"sandbox", "sandbox_workers", *EvaluationSettings.model_fields},
}
#: Type of Python in the help of typer → what a reader calls it.
_TYPES = {"<str>": "<text>", "<list[str]>": "<text>", "<list[Path]>": "<path>", "<dir>": "<folder>"}
_TYPES |= dict.fromkeys(("<int range>", "<float range>"), "<number>")


class GroupedCommand(TyperCommand):
    """A command whose help lists its options under their headings."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write one table for each heading."""
        _write_options(self, ctx, formatter)


class GroupedHelp(TyperGroup):
    """A group whose help lists its commands and options under their headings."""

    def __init__(self, **settings: Any) -> None:
        """Replace the types of Python in the help of all parameters."""
        super().__init__(**settings)
        for command in (self, *self.commands.values()):
            parameters: list[Any] = command.params
            for parameter in parameters:
                show = parameter.display_type
                parameter.display_type = functools.partial(_type_for_readers, show)

    def invoke(self, ctx: Any) -> Any:
        """Run the command; a wrong value is described without the words of pydantic."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = error.message.removeprefix("Value error, ").removeprefix("Input ")
            raise

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write one table for each heading of options, then the commands."""
        _write_options(self, ctx, formatter)
        self.format_commands(ctx, formatter)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write one table for each heading."""
        names = list(self.commands)
        if ctx.parent is None:
            names.sort(key=ORDER.index)
        headings: dict[str, list[tuple[str, str]]] = {}
        for name in names:
            command = self.commands[name]
            panel = getattr(command, "rich_help_panel", None)
            heading = panel if isinstance(panel, str) else "Commands"
            row = (name, command.get_short_help_str(limit=80))
            headings.setdefault(heading, []).append(row)
        _write(headings, formatter)


def _type_for_readers(show: Callable[..., str], ctx: Any) -> str:
    shown = show(ctx)
    return _TYPES.get(shown, shown)


def _write_options(command: Any, ctx: Any, formatter: Any) -> None:
    headings: dict[str, list[tuple[str, str]]] = {heading: [] for heading in (*_PANELS, "Options")}
    for parameter in command.get_params(ctx):
        record = parameter.get_help_record(ctx)
        if record:
            headings[_heading_of(parameter.name)].append(record)
    _write(headings, formatter)


def _heading_of(option: str) -> str:
    for heading, names in _PANELS.items():
        if option in names:
            return heading
    return "Options"


def _write(headings: dict[str, list[tuple[str, str]]], formatter: Any) -> None:
    for heading, rows in headings.items():
        if rows:
            with formatter.section(heading):
                formatter.write_dl(rows)
