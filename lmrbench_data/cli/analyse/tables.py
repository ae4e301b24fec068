"""`lmrbench analyse tables`: accuracy, the judge's and people's categories, and how far they agree."""

from pathlib import Path
from typing import Annotated

import typer

from ..output import Json
from .show import JudgeModel, Out, Runs, check_names, imported, present


def tables(
    runs: Runs = None,
    labels: Annotated[
        Path | None, typer.Option("--labels", help="People's labels (.csv, .jsonl) of the runs' answers.")
    ] = None,
    judge_model: JudgeModel = None,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Reproduce the paper's Table 2, agreement and conflicts.

    Accuracy, the categories of the judge and of people, and how far tests, judge and people agree: of the LMR-BENCH
    paper's own data, with a word on which of its numbers follow from it, or of your runs.

    Example: lmrbench analyse tables runs/mine --labels labels.csv
    """
    from lmrbench_evaluate.reports.annotations import read_annotations

    from ...analyse.judged_answers import original_answers, run_answers
    from ...analyse.paper_tables import make_tables
    from ...base.errors import ArgumentError

    check_names(out)
    original = imported(runs)
    if labels and (original or not runs):
        raise ArgumentError("labels", "are of the answers of runs; name a run, too (the original's data has its own)")
    annotations, bad = read_annotations(labels) if labels else ([], [])
    if runs and not original:
        found = make_tables(run_answers(runs, judge_model, annotations, bad))
    else:
        found = make_tables(original_answers(original))
    present(found, as_json, out)
    if bad:
        raise typer.Exit(1)
