"""`lmrbench analyse structure`: does the structure of a repository tell whether its task is solved?"""

from pathlib import Path
from typing import Annotated

import typer

from ..options import MovedDataset
from ..output import Json
from .show import Figure, JudgeModel, Out, Runs, check_names, imported, present


def structure(
    runs: Runs = None,
    solved_by: Annotated[
        str,
        typer.Option(
            "--solved-by",
            help="reproduced or robust (the original's: unit tests); judge or people: solved is what they call CC.",
        ),
    ] = "",
    labels: Annotated[
        Path | None, typer.Option("--labels", help="People's labels (.csv, .jsonl) of the runs' answers.")
    ] = None,
    judge_model: JudgeModel = None,
    dataset: MovedDataset = None,
    figure: Figure = None,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Relate a repository's structure to success.

    Logistic regression of solved or not on depth, branch factor and imbalance of directories, the length of the goal
    function, and the model (the LMR-BENCH paper's Appendix G), errors clustered by paper. Needs the extra `report`.

    Example: lmrbench analyse structure runs/a runs/b --figure odds.png
    """
    from lmrbench_evaluate.reports.annotations import read_annotations

    from ...analyse.judged_answers import original_answers, rows_of_import, rows_of_runs, run_answers
    from ...analyse.structure import analyse_structure
    from ...base.errors import ArgumentError

    check_names(out, figure)
    original = imported(runs)
    if (original or not runs) and (labels or dataset):
        raise ArgumentError("labels" if labels else "dataset", "is of runs; name a run, too")
    annotations, bad = read_annotations(labels) if labels else ([], [])
    if runs and not original:
        answers = run_answers(runs, judge_model, annotations, bad)
        found = analyse_structure(answers, rows_of_runs(runs, dataset), solved_by)
    else:
        found = analyse_structure(original_answers(original), rows_of_import(original), solved_by)
    present(found, as_json, out, figure)
    if bad:
        raise typer.Exit(1)
