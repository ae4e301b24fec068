"""Options that several commands share, and the row that an instance id names."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .output import say

if TYPE_CHECKING:
    from ..rows import DatasetRow
    from ..tasks import Task

Track = Annotated[str, typer.Option("--track", help="paper, or contract: that one shows the contract, too.")]
BenchmarkFolder = Annotated[
    Path | None,
    typer.Option("--benchmark", help="Folder of tasks; the installed one by default.", exists=True, file_okay=False),
]
DatasetSpec = Annotated[str, typer.Option("--dataset", help="embedded, a folder, or org/name[@revision].")]
MovedDataset = Annotated[
    str | None, typer.Option("--dataset", help="Where the dataset is now, if it has moved since the evaluation.")
]


def tasks_and_drafts(names: list[str] | None, benchmark: Path | None) -> "tuple[list[Task], list[str]]":
    """(the tasks that were named, or all that are finished; the drafts that are left out, of which a warning tells).

    Raises:
        InputError: a task that counts is malformed, a name is unknown, or there is none but drafts.
    """
    from ..paths import benchmark_folder, benchmark_option
    from ..tasks import load_tasks
    from ..text import counted
    from ..unfinished import load_finished

    if names:
        return load_tasks(names, benchmark), []
    tasks, drafts = load_finished(benchmark)
    if drafts:
        lint = f"`lmrbench tasks lint{benchmark_option(benchmark or benchmark_folder())}`"
        left_out = counted(len(drafts), "draft is", "drafts are")
        say(f"warning: {left_out} left out: {', '.join(drafts)}; {lint} says what is left to do")
    return tasks, drafts


def chosen_row(instance: str, dataset: str) -> "DatasetRow":
    """The row of an instance.

    Raises:
        InputError: the dataset has none of that name.
        LoadError: no such dataset.
    """
    from ..errors import InputError
    from ..loader import load_rows

    row = next((row for row in load_rows(dataset) if row["instance_id"] == instance), None)
    if row is None:
        raise InputError(f"{instance!r} is unknown; see `lmrbench tasks list`")
    return row
