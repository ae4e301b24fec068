"""`lmrbench analyse structure`: relate the structure of repositories to success."""

from typing import Annotated

import typer

from ..options import JudgeModel, Labels, MovedDataset
from ..output import Json
from .show import Figure, Out, Runs, check_names, present


def structure(
    runs: Runs = None,
    solved_by: Annotated[
        str,
        typer.Option(
            "--solved-by",
            help="Meaning of solved: reproduced or robust (by tests), judge or people (category CC).",
        ),
    ] = "",
    labels: Labels = None,
    judge_model: JudgeModel = None,
    dataset: MovedDataset = None,
    figure: Figure = None,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Relate a repository's structure to success.

    Fits a logistic regression of success on depth, branch factor and imbalance of directories, the length of the goal
    function, and the model (Appendix G of the LMR-BENCH paper), with errors clustered by paper. Needs the extra
    `report`.

    Example: lmrbench analyse structure runs/a runs/b --figure odds.png
    """
    from lmrbench_evaluate.reports.annotations import read_annotations

    from ...analyse.judged_answers import original_answers, rows_of_runs, run_answers
    from ...analyse.structure import analyse_structure
    from ...base.errors import ArgumentError

    check_names(out, figure)
    if (labels or dataset) and not runs:
        raise ArgumentError("labels" if labels else "dataset", "applies to runs; name a run as well")
    annotations, bad = read_annotations(labels) if labels else ([], [])
    if runs:
        answers = run_answers(runs, judge_model, annotations, bad)
        result = analyse_structure(answers, rows_of_runs(runs, dataset), solved_by)
    else:
        result = analyse_structure(original_answers(), solved_by=solved_by)
    present(result, as_json, out, figure)
    if bad:
        raise typer.Exit(1)
