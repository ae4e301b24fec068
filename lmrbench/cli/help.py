"""Help of the command line: commands under headings, and so the options of commands that have many."""

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
    """A group whose help lists its commands under their headings, and the options of its own likewise."""

    def __init__(self, **settings: Any) -> None:
        """Replace the types of Python in the help of all parameters."""
        super().__init__(**settings)
        parameters: list[Any] = [
            item for command in (self, *self.commands.values()) for item in command.params
        ]
        for item in parameters:
            item.display_type = functools.partial(_type_for_readers, item.display_type)

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
        headings: dict[str, list[tuple[str, str]]] = {}
        for name in sorted(self.commands, key=ORDER.index) if ctx.parent is None else self.commands:
            command = self.commands[name]
            heading = getattr(command, "rich_help_panel", None)
            rows = headings.setdefault(heading if isinstance(heading, str) else "Commands", [])
            rows.append((name, command.get_short_help_str(limit=80)))
        _write(headings, formatter)


def _type_for_readers(show: Callable[..., str], ctx: Any) -> str:
    shown = show(ctx)
    return _TYPES.get(shown, shown)


def _write_options(command: Any, ctx: Any, formatter: Any) -> None:
    headings: dict[str, list[tuple[str, str]]] = {heading: [] for heading in (*_PANELS, "Options")}
    for item in command.get_params(ctx):
        if record := item.get_help_record(ctx):
            heading = next(
                (heading for heading, names in _PANELS.items() if item.name in names), "Options"
            )
            headings[heading].append(record)
    _write(headings, formatter)


def _write(headings: dict[str, list[tuple[str, str]]], formatter: Any) -> None:
    for heading, rows in headings.items():
        if rows:
            with formatter.section(heading):
                formatter.write_dl(rows)
