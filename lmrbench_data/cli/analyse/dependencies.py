"""`lmrbench analyse dependencies`: the share of the references' dependencies that answers use."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..options import MovedDataset
from ..output import Json, print_json, print_table, put, say
from ..progress import progress_bar

if TYPE_CHECKING:
    from ...analyse.dependencies import DependencyRecall


def dependencies(
    runs: Annotated[list[Path], typer.Argument(help="Run folders of `lmrbench evaluate`.", metavar="RUN...")],
    dataset: MovedDataset = None,
    labels: Annotated[
        Path | None, typer.Option("--labels", help="Human error classes, as for `lmrbench analyse errors`.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Measure dependency recall of answers.

    Dependency recall is the share of the names used by the reference that the answer uses as well.

    Recall is given separately for names from the function's own file, other files of the repository and libraries.
    Results are shown by outcome, model and category, and by error class where there are diagnoses or labels. No code is
    run. Intervals are 95 % percentile bootstrap intervals over instances, omitted for fewer than five instances.

    Example: lmrbench analyse dependencies runs/mine
    """
    from lmrbench_evaluate.reports.annotations import read_annotations

    from ...analyse.dependencies import as_dict, dependency_recall
    from ...analyse.errors.classes import COLUMN

    annotations, bad = read_annotations(labels, COLUMN) if labels else ([], [])
    for row in bad:
        say(f"bad row: {row}")
    with progress_bar("comparing", shown=not as_json) as progress:
        found = dependency_recall(runs, dataset, progress, annotations)
    if as_json:
        print_json(as_dict(found))
    else:
        _print(found)
    if bad:
        raise typer.Exit(1)


def _print(found: "DependencyRecall") -> None:
    from ...analyse.dependencies import tables

    for title, (header, rows) in tables(found):
        print_table(header, rows, title=title)
    for reason, count in sorted(found.left_out.items()):
        put(f"left out: {count} ({reason})")
    put("A correct answer may not need all names of the reference: recall measures use, not correctness.")
