"""`lmrbench evaluate` and `lmrbench judge`: test predictions, and have a language model judge them."""

from typing import TYPE_CHECKING, Annotated

import typer

from lmrbench_evaluate.judge.settings import JudgeSettings
from lmrbench_evaluate.runs.settings import RunSettings

from ..chat.endpoint import Endpoint
from .options import Notes, Sandbox, option_of, options
from .outcomes import judging_dict, judging_status, judging_text, report_text, run_status
from .output import Json, emit, progress_bar

if TYPE_CHECKING:
    from lmrbench_evaluate.judge.summary import JudgeSummary


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
    from ..base.errors import ArgumentError, LMRBenchError

    if judge:
        from ..chat.server import address_and_key

        try:
            address_and_key(judge_base_url)  # before an hour of tests
        except ArgumentError as error:
            raise ArgumentError(f"judge_{error.argument}", error.problem) from error
    arguments = dict(settings, map=parse_columns(columns or ()))
    with progress_bar("evaluating", shown=not as_json, kept="finished results are kept") as progress:
        run = api.evaluate(predictions, sandbox=sandbox, progress=progress, **arguments)
    assert run.summary is not None
    judged: JudgeSummary | LMRBenchError | None = None
    if judge and not run.summary.stopped:
        try:
            judged = _judge(JudgeSettings(run=run.path, model=judge, base_url=judge_base_url), as_json)
        except LMRBenchError as error:  # the report is still printed
            judged = error
    report = run.report()
    emit(
        {**report.to_dict(), **({"judge": judging_dict(run.path, judged)} if judged else {})},
        as_json,
        *(judging_text(run.path, judged) if judged else ()),
        *report_text(report, notes=notes, folder=run.path),
    )
    status = run_status(run.summary)
    judge_status = judging_status(judged) if judged else 0
    if status or judge_status:
        raise typer.Exit(status if status == 3 else judge_status or status)


@options(JudgeSettings)
def judge(settings: JudgeSettings, as_json: Json = False) -> None:
    """Have a language model judge the answers of a run.

    It sorts them into completely correct (CC), subtle errors (LC) and wrong logic (LI).

    The key is read from OPENAI_API_KEY; a local server needs none. Judgements go to RUN/judgements.jsonl one by one.
    Re-run the command to resume.

    Example: lmrbench judge runs/mine --model gpt-5 --votes 3
    """
    done = _judge(settings, as_json)
    emit(
        judging_dict(settings.run, done, settings.instances),
        as_json,
        *judging_text(settings.run, done, settings.instances, settings.votes),
    )
    if status := judging_status(done):
        raise typer.Exit(status)


def _judge(settings: JudgeSettings, quiet: bool) -> "JudgeSummary":
    from .. import api

    kept = f"judgements so far are in {settings.run}/judgements.jsonl"
    with progress_bar("judging", shown=not quiet, kept=kept) as progress:
        done = api.judge(**dict(settings), progress=progress).judging
    assert done is not None
    return done
