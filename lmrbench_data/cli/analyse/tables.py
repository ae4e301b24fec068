"""`lmrbench analyse tables`: accuracy, categories of judge and people, and their agreement."""

import typer

from ..options import JudgeModel, Labels
from ..output import Json
from .show import Out, Runs, check_names, present


def tables(
    runs: Runs = None,
    labels: Labels = None,
    judge_model: JudgeModel = None,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Reproduce the paper's Table 2, agreement and conflicts.

    Shows accuracy, the judge's and people's categories, and the agreement between tests, judge and people. Without
    runs, the tables use the published data of the LMR-BENCH paper, and notes say which of the paper's numbers follow
    from it.

    Example: lmrbench analyse tables runs/mine --labels labels.csv
    """
    from lmrbench_evaluate.reports.annotations import read_annotations

    from ...analyse.judged_answers import original_answers, run_answers
    from ...analyse.paper_tables import make_tables
    from ...base.errors import ArgumentError

    check_names(out)
    if labels and not runs:
        raise ArgumentError("labels", "applies to runs; name a run as well (the original's data has labels of its own)")
    annotations, bad = read_annotations(labels) if labels else ([], [])
    answers = run_answers(runs, judge_model, annotations, bad) if runs else original_answers()
    present(make_tables(answers), as_json, out)
    if bad:
        raise typer.Exit(1)
