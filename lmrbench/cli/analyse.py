"""`lmrbench analyse`: the LMR-BENCH paper's analyses, on the original's facts or on your runs."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lmrbench_data.base.errors import ArgumentError, InputError
from lmrbench_data.base.settings import option
from lmrbench_evaluate.runs.settings import JudgeSettings

from .options import JudgeModel, Labels, MovedDataset, options
from .outcomes import asking_dict, asking_lines, asking_status, kept_in
from .output import Json, emit, only_runs, print_err, progress_bar

if TYPE_CHECKING:
    from lmrbench_evaluate.judge.asking import JudgeSummary
    from lmrbench_evaluate.predictions.sources import BadRow

    from ..analyse.answers import Answers
    from ..analyse.result import Analysis

app = typer.Typer(
    no_args_is_help=True, help="Run the paper's analyses on its data or on your runs."
)

Runs = Annotated[
    list[Path] | None,
    typer.Argument(help="Run folders (default: the original's published data).", metavar="RUN"),
]
Out = Annotated[
    list[Path] | None,
    typer.Option("--out", "-o", help="Also write a .md, .csv or .json file (repeatable)."),
]


def _check(runs: list[Path] | None, out: list[Path] | None, **of_runs: object) -> None:
    """Check the names of output files, and that options of runs come with runs."""
    from ..analyse.result import check_name

    for path in out or ():
        check_name(path)
    for name, value in of_runs.items():
        if value and not runs:
            raise ArgumentError(name, "applies to runs; name a run as well")


def _answers(
    runs: list[Path] | None, judge_model: str | None, labels: Path | None
) -> "tuple[Answers, list[BadRow], list[Path]]":
    """Return the answers of runs or of the original, bad rows of labels, and the runs."""
    from lmrbench_evaluate.reports.annotations import read_annotations

    from ..analyse.answers import original_answers, run_answers

    if not runs:
        return original_answers(), [], []
    annotations, bad = read_annotations(labels) if labels else ([], [])
    runs = only_runs(runs)
    return run_answers(runs, judge_model, annotations, bad), bad, runs


def _present(
    analysis: "Analysis", as_json: bool, out: list[Path] | None, bad: "Sequence[BadRow]" = ()
) -> None:
    """Print and write an analysis; exit with status 1 if labels are bad."""
    emit(analysis.numbers, as_json, *analysis.tables, *analysis.notes)
    for path in out or ():
        print_err(f"written: {analysis.save(path)}")
    if bad:
        raise typer.Exit(1)


@app.command()
def tables(
    runs: Runs = None,
    labels: Labels = None,
    judge_model: JudgeModel = None,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Reproduce the paper's Table 2, agreement and conflicts.

    Shows accuracy, the judge's and people's categories, and the agreement between tests, judge and
    people. Without runs, the tables use the published data of the LMR-BENCH paper, and notes say
    which of the paper's numbers follow from it.

    Example: lmrbench analyse tables runs/mine --labels labels.csv
    """
    from ..analyse.tables import make_tables

    _check(runs, out, labels=labels)
    answers, bad, _ = _answers(runs, judge_model, labels)
    _present(make_tables(answers), as_json, out, bad)


@app.command()
def actions(
    runs: Runs = None,
    robust: Annotated[
        bool,
        typer.Option("--robust", help="Count a session as passed only if its answer is robust."),
    ] = False,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Count the actions of agents by kind.

    The kinds are edit, finish, message, read and run. Shows shares by model and by outcome, as in
    Figures 5 and 6 of the LMR-BENCH paper, for its own sessions or for your runs of `evaluate` on
    the predictions of `agent run`. Reads the sessions of installed agents.

    Example: lmrbench analyse actions runs/mine --out actions.csv
    """
    from lmrbench_evaluate.verdict.levels import Level

    from ..analyse.actions import analyse_actions
    from ..analyse.sessions import original_sessions, run_sessions

    _check(runs, out)
    level = Level.ROBUST if robust else Level.REPRODUCED
    sessions = run_sessions(only_runs(runs), level) if runs else original_sessions()
    _present(analyse_actions(sessions), as_json, out)


@app.command()
def structure(
    runs: Runs = None,
    solved_by: Annotated[
        str,
        typer.Option(
            "--solved-by",
            help="Meaning of solved: reproduced or robust (by tests), judge or people "
            "(category CC).",
        ),
    ] = "",
    labels: Labels = None,
    judge_model: JudgeModel = None,
    dataset: MovedDataset = None,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Relate a repository's structure to success.

    Fits a logistic regression of success on depth, branch factor and imbalance of directories, the
    length of the goal function, and the model (Appendix G of the LMR-BENCH paper), with errors
    clustered by paper. Needs the extra `report`.

    Example: lmrbench analyse structure runs/a runs/b --out odds.csv
    """
    from ..analyse.answers import rows_of_runs
    from ..analyse.structure import analyse_structure

    _check(runs, out, labels=labels, dataset=dataset)
    answers, bad, runs = _answers(runs, judge_model, labels)
    result = analyse_structure(answers, rows_of_runs(runs, dataset) if runs else (), solved_by)
    _present(result, as_json, out, bad)


@app.command()
@options(
    JudgeSettings,
    without=("votes",),
    model=option("", "Model to ask (default: show earlier diagnoses).", "--model", "-m"),
)
def errors(
    settings: JudgeSettings,
    as_json: Json = False,
) -> None:
    """Classify failed answers by the paper's error classes.

    The classes are those of the LMR-BENCH paper (Section 5.3): paper parsing, incomplete
    comprehension, code robustness, cross-file retrieval, policy.

    The model sees the judge's material and the report of the tests. Diagnoses are added to
    RUN/errors.jsonl one by one; re-run the command to resume.

    Example: lmrbench analyse errors runs/mine --model gpt-5
    """
    from lmrbench_evaluate.runs.folder import RunFolder

    from ..analyse.errors.ask import FILE, ask_why
    from ..analyse.errors.error_analysis import analyse_errors

    run = settings.run
    log = run / FILE
    _ = RunFolder(run).facts  # fails if there is no run
    if settings.model:
        kept = partial(kept_in, log, "diagnoses")
        with progress_bar("asking", kept=kept) as progress:
            summary = ask_why(settings, progress)
    elif log.is_file() and log.stat().st_size:
        summary = None
    else:
        raise InputError(f"{run}: no diagnoses yet; add a model to ask (--model)")
    analysis = analyse_errors(run, model=settings.model or None, instances=settings.instances)
    _present_errors(analysis, summary, log, as_json)


def _present_errors(
    analysis: "Analysis", summary: "JudgeSummary | None", log: Path, as_json: bool
) -> None:
    """Print the classes of errors and, if a model was asked, its cost; exit with its status."""
    tables = analysis.tables
    notes = analysis.notes
    if summary is None:
        emit(analysis.numbers, as_json, *tables, *notes)
        return
    numbers = {**analysis.numbers, **asking_dict(summary)}
    emit(numbers, as_json, *tables, *notes, *asking_lines(summary), f"diagnoses: {log}")
    raise typer.Exit(asking_status(summary, "diagnosis", "diagnoses"))
