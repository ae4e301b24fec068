"""`lmrbench evaluate`: test predictions and write a report."""

from typing import TYPE_CHECKING, Annotated

import typer

from lmrbench_evaluate.judge.settings import JudgeSettings
from lmrbench_evaluate.runs.settings import RunSettings

from ..chat.endpoint import Endpoint
from .options import Notes, Sandbox, option_of, options
from .output import Json, interruptible, print_json
from .progress import progress_bar
from .show_judging import judging_dict, judging_status, print_judging
from .show_report import print_details, print_files, print_scores, run_status

if TYPE_CHECKING:
    from lmrbench_evaluate.judge.summary import JudgeSummary

    from ..base.errors import LMRBenchError


@options(RunSettings, without=("map",))
def evaluate(
    predictions: Annotated[
        str,
        typer.Argument(
            help="File (.jsonl, .json, .parquet), save_to_disk folder, Hub dataset (org/name[@revision]), - for JSON "
            "lines on stdin, or gold or masked."
        ),
    ],
    settings: RunSettings,
    columns: Annotated[
        list[str] | None,
        typer.Option("--map", metavar="THEIRS=OURS", help="Rename a column, such as completion=function (repeatable)."),
    ] = None,
    sandbox: Sandbox = "auto",
    judge: Annotated[
        str | None, typer.Option("--judge", help="Also judge the answers with this model; see `lmrbench judge`.")
    ] = None,
    judge_base_url: Annotated[str | None, option_of(Endpoint, "base_url", "--judge-base-url")] = None,
    notes: Notes = False,
    as_json: Json = False,
) -> None:
    """Evaluate predictions: run their tests and write a report.

    Rebuilds each repository and runs its tests in a sandbox; outputs are compared outside it. Re-run the command to
    resume.

    Example: lmrbench evaluate predictions.jsonl --out runs/mine --workers 4
    """
    from lmrbench_evaluate.predictions.column_mapping import parse_columns

    from .. import api
    from ..base.errors import ArgumentError

    if judge:
        from ..chat.server import address_and_key

        try:
            address_and_key(judge_base_url)  # before an hour of tests
        except ArgumentError as error:
            raise ArgumentError(f"judge_{error.argument}", error.problem) from error
    settings = settings.model_copy(update={"map": parse_columns(columns or ())})
    with interruptible("finished results are kept"), progress_bar("evaluating", shown=not as_json) as progress:
        run = api.evaluate(predictions, sandbox=sandbox, progress=progress, **dict(settings))
    assert run.summary is not None
    judged: JudgeSummary | LMRBenchError | None = None
    if judge and not run.summary.stopped:
        judged = _judge(JudgeSettings(run=run.path, model=judge, base_url=judge_base_url), as_json)
    report = run.report()
    if as_json:
        print_json({**report.to_dict(), **({"judge": judging_dict(run.path, judged)} if judged else {})})
    else:
        print_details(report, notes=notes)
        if judged:
            print_judging(run.path, judged)
        print_scores(report, notes=notes)
        print_files(run.path)
    status = run_status(run.summary)
    judge_status = judging_status(judged) if judged else 0
    if status or judge_status:
        raise typer.Exit(status if status == 3 else judge_status or status)


def _judge(settings: JudgeSettings, quiet: bool) -> "JudgeSummary | LMRBenchError":
    """Judge a run; return the error of a judge that fails, so that the report is still printed."""
    from .. import api
    from ..base.errors import LMRBenchError

    kept = f"judgements so far are in {settings.run}/judgements.jsonl"
    try:
        with interruptible(kept), progress_bar("judging", shown=not quiet) as progress:
            done = api.judge(**dict(settings), progress=progress).judging
    except LMRBenchError as error:
        return error
    assert done is not None
    return done
