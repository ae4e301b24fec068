"""Load the dataset rows that a run was evaluated on, wherever they are now."""

from collections.abc import Sequence
from pathlib import Path

from lmrbench_data.base.errors import ArgumentError, InputError
from lmrbench_data.dataset.rows import DatasetRow
from lmrbench_data.loader import dataset_sha256, load_rows

from .eligibility import is_imported
from .results import read_facts


def rows_of_run(
    run: Path, dataset: str | None = None, rows: Sequence[DatasetRow] | None = None
) -> dict[str, DatasetRow]:
    """The rows of a run's dataset by instance id.

    Args:
        dataset: where the dataset is now, if it has moved.
        rows: the rows, if they are at hand.

    Raises:
        InputError: no run folder, or an imported run that came without tasks.
        ArgumentError: the dataset has changed since the run.
        LoadError: there is no such dataset.
    """
    facts = read_facts(run)
    if is_imported(facts) and not facts.get("recordings_sha256"):
        raise InputError(f"{run}: an imported run whose tasks are not known: the clone had results only")
    spec = dataset or facts["dataset"]
    rows = load_rows(spec) if rows is None else rows
    if dataset_sha256(rows) != facts["dataset_sha256"]:
        raise ArgumentError("dataset", f"{run} was evaluated on other rows than {spec!r} has; name the one it was on")
    return {row["instance_id"]: row for row in rows}
