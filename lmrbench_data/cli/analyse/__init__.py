"""`lmrbench analyse`: the analyses of the LMR-BENCH paper, on the original's facts or on your own runs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ...chat.endpoint import Endpoint
from ..options import DatasetSpec, JudgeModel, Labels, MovedDataset, options
from ..output import Json, emit, print_err, progress_bar
from .errors import errors

if TYPE_CHECKING:
    from lmrbench_evaluate.predictions.sources import BadRow
    from lmrbench_evaluate.reports.annotations import Annotation

    from ...analyse.result import Analysis

app = typer.Typer(no_args_is_help=True, help="Run the paper's analyses on its data or on your runs.")
familiarity = typer.Typer(no_args_is_help=True, help="Measure how familiar a model is with the papers.")

Runs = Annotated[
    list[Path] | None,
    typer.Argument(help="Run folders (default: the original's published data).", metavar="RUN"),
]
Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", help="Also write a file; the extension selects the format: .md, .csv or .json."),
]
Figure = Annotated[
    Path | None, typer.Option("--figure", help="Also draw a figure, .png or .svg; needs the extra `report`.")
]


def _check(runs: list[Path] | None, out: Path | None, figure: Path | None = None, **of_runs: object) -> None:
    """Check the names of the output files, and that options of runs come with runs, before the work."""
    from ...analyse.result import FIGURES, FORMS, check_name
    from ...base.errors import ArgumentError

    if out:
        check_name("out", out, FORMS)
    if figure:
        check_name("figure", figure, FIGURES)
    if given := [name for name, value in of_runs.items() if value and not runs]:
        raise ArgumentError(given[0], "applies to runs; name a run as well")


def _annotations(labels: Path | None) -> "tuple[list[Annotation], list[BadRow]]":
    from lmrbench_evaluate.reports.annotations import read_annotations

    return read_annotations(labels) if labels else ([], [])


def _present(analysis: "Analysis", as_json: bool, out: Path | None, figure: Path | None = None) -> None:
    """Print tables and notes, or JSON; write the files that are named."""
    emit(analysis, as_json)
    if out:
        print_err(f"written: {analysis.save(out)}")
    if figure:
        analysis.draw(figure)
        print_err(f"written: {figure}")


@app.command()
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
    from ...analyse.answers import original_answers, run_answers
    from ...analyse.tables import make_tables

    _check(runs, out, labels=labels)
    annotations, bad = _annotations(labels)
    answers = run_answers(runs, judge_model, annotations, bad) if runs else original_answers()
    _present(make_tables(answers), as_json, out)
    if bad:
        raise typer.Exit(1)


@app.command()
def actions(
    runs: Runs = None,
    trajectories: Annotated[
        list[Path] | None,
        typer.Option("--trajectories", help="New location of an `agent run` folder, if it has moved (repeatable)."),
    ] = None,
    robust: Annotated[
        bool, typer.Option("--robust", help="Count a session as passed only if its answer is robust.")
    ] = False,
    figure: Figure = None,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Count the actions of agents by kind.

    The kinds are edit, finish, message, read and run. Shows shares by model and by outcome, as in Figures 5 and 6 of
    the LMR-BENCH paper, for its own sessions or for your runs. Pass run folders of `lmrbench evaluate` for an agent's
    predictions, or folders of `agent run`, which have no outcomes. Reads sessions of mini-swe-agent and OpenHands.

    Example: lmrbench analyse actions runs/mini --figure actions.png
    """
    from lmrbench_evaluate.verdict.levels import Level

    from ...analyse.actions import analyse_actions
    from ...analyse.sessions import original_sessions, run_sessions

    _check(runs, out, figure, trajectories=trajectories)
    level = Level.ROBUST if robust else Level.REPRODUCED
    sessions = run_sessions(runs, trajectories or (), level) if runs else original_sessions()
    _present(analyse_actions(sessions), as_json, out, figure)


@app.command()
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
    from ...analyse.answers import original_answers, rows_of_runs, run_answers
    from ...analyse.structure import analyse_structure

    _check(runs, out, figure, labels=labels, dataset=dataset)
    annotations, bad = _annotations(labels)
    answers = run_answers(runs, judge_model, annotations, bad) if runs else original_answers()
    result = analyse_structure(answers, rows_of_runs(runs, dataset) if runs else (), solved_by)
    _present(result, as_json, out, figure)
    if bad:
        raise typer.Exit(1)


app.command("errors")(errors)
app.add_typer(familiarity, name="familiarity")


@familiarity.command()
def cutoff(
    runs: Annotated[list[Path], typer.Argument(help="Run folders of `lmrbench evaluate`.", metavar="RUN...")],
    cutoffs: Annotated[
        list[str], typer.Option("--cutoff", help="YYYY-MM for all models, MODEL=YYYY-MM for one (repeatable).")
    ],
    dataset: MovedDataset = None,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Score runs on papers before and after a cut-off date.

    The date of a paper is the month of its first arXiv version, else its year.

    Example: lmrbench analyse familiarity cutoff runs/mine --cutoff 2024-06
    """
    from ...analyse.familiarity import split_by_cutoff

    _check(runs, out)
    _present(split_by_cutoff(runs, cutoffs, dataset), as_json, out)


@familiarity.command()
@options(Endpoint, without=("max_tokens", "requests_per_minute"))
def probability(settings: Endpoint, dataset: DatasetSpec = "embedded", out: Out = None, as_json: Json = False) -> None:
    """Measure the mean token probability of each goal file.

    The measure is that of the LMR-BENCH paper. It needs a server whose completions echo prompts with log-probabilities,
    such as vLLM.

    Example: lmrbench analyse familiarity probability --model Qwen/Qwen3-8B --base-url http://localhost:8000/v1
    """
    from ...analyse.familiarity import measure_probabilities
    from ...dataset.load import load_rows

    _check(None, out)
    with progress_bar("scoring", shown=not as_json) as progress:
        result = measure_probabilities(settings, load_rows(dataset), progress)
    _present(result, as_json, out)
