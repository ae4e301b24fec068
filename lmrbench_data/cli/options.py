"""Options that several commands share, and the row that an instance id names."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ..rows import DatasetRow

Track = Annotated[str, typer.Option("--track", help="paper, or contract: that one shows the contract, too.")]
BenchmarkFolder = Annotated[
    Path | None,
    typer.Option("--benchmark", help="Folder of tasks; the installed one by default.", exists=True, file_okay=False),
]
DatasetSpec = Annotated[str, typer.Option("--dataset", help="embedded, a folder, or org/name[@revision].")]


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
