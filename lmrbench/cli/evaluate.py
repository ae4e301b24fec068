"""`lmrbench evaluate`, `judge` and `calibrate`: test predictions, judge them, calibrate a judge."""

import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lmrbench_data.base import proportions
from lmrbench_data.base.settings import option
from lmrbench_data.tasks.task_folders import load_tasks
from lmrbench_evaluate.runs.settings import JudgeSettings, RunSettings

from .options import BenchmarkFolder, SandboxKind, options
from .outcomes import asking_dict, asking_lines, asking_status, kept_in, print_run
from .output import Json, emit, progress_bar

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lmrbench_evaluate.judge.judgement_log import Judge
    from lmrbench_evaluate.reports.scores import Scores

    from ..checks.calibration import Calibration
    from .outcomes import Part

JUDGEMENTS = "judgements.jsonl"
CALIBRATION = Path("runs/calibration-MODEL-TRACK")


@options(RunSettings)
def evaluate(
    predictions: Annotated[
        str,
        typer.Argument(
            help="File (.jsonl, .json, .parquet), log of Inspect or folder of logs, Hub dataset "
            "(org/name[@revision]), or gold or masked."
        ),
    ],
    settings: RunSettings,
    sandbox: SandboxKind = "auto",
    as_json: Json = False,
) -> None:
    """Evaluate predictions: run their tests and write a report.

    Rebuilds each repository and runs its tests in a sandbox; outputs are compared outside it.
    Re-run the command to resume.

    Example: lmrbench evaluate predictions.jsonl --out runs/mine --workers 4
    """
    from ..api import evaluation

    with progress_bar("distinct answers", kept="finished results are kept") as progress:
        run = evaluation.evaluate(predictions, sandbox=sandbox, progress=progress, **dict(settings))
    print_run(run, as_json)


@options(JudgeSettings)
def judge(settings: JudgeSettings, as_json: Json = False) -> None:
    """Have a language model judge the answers of a run.

    It sorts them into completely correct (CC), subtle errors (LC) and wrong logic (LI).

    The key is read from OPENAI_API_KEY; a local server needs none. Judgements go to
    RUN/judgements.jsonl one by one. Re-run the command to resume.

    Example: lmrbench judge runs/mine --model gpt-5 --votes 3
    """
    from ..api.models import judge as ask_judge

    log = settings.run / JUDGEMENTS
    kept = partial(kept_in, log, "judgements")
    with progress_bar("judging", kept=kept) as progress:
        run = ask_judge(**dict(settings), progress=progress)
    done = run.judging
    assert done is not None
    has_replies = done.asked or done.kept or done.identical or done.not_judged
    scores = run.report(done.judge.model).scores if has_replies else []
    result = {
        "run": str(settings.run),
        "judge_model": done.judge.model,
        **asking_dict(done),
        "models": [{**score.names, **score.overall.judge_dict()} for score in scores],
    }
    tables = _score_tables(done.judge, settings.votes, scores)
    emit(result, as_json, *tables, *asking_lines(done), f"judgements: {log}")
    raise typer.Exit(asking_status(done))


def _score_tables(judge: "Judge", votes: int, scores: "Scores") -> "Iterator[Part]":
    from lmrbench_evaluate.reports.score_tables import judge_table

    if scores:
        voted = f", {votes} votes" if votes > 1 else ""
        title = f"Judged by {judge.model} (prompt {judge.prompt_version}{voted})"
        yield title, judge_table(scores)


calibrate = typer.Typer(
    no_args_is_help=True, help="Compare a judge with variants of known quality."
)


@calibrate.callback()
def _calibrate() -> None:
    """Keep the name of the only command."""


@calibrate.command()
@options(
    JudgeSettings,
    without=("dataset",),
    run=option(CALIBRATION, "Folder to write.", "--out", "-o"),
)
def variants(
    settings: JudgeSettings,
    track: Annotated[
        proportions.Track, typer.Option(help="Track in which to judge the variants.")
    ] = "paper",
    each: Annotated[
        int | None, typer.Option(min=1, help="Maximum number of variants per kind and instance.")
    ] = None,
    benchmark: BenchmarkFolder = None,
    as_json: Json = False,
) -> None:
    """Compare a judge with variants whose quality is known.

    Valid variants should be judged CC, wrong ones LC or LI. Plain and careless variants implement
    the method but may have minor errors, so CC and LC are both accepted. In the contract track,
    careless variants should be judged LC or LI, and plain ones are left out. Re-run the command to
    resume.

    The installed package has no variants: in a clone of the repository, add --benchmark benchmark.

    Example: lmrbench calibrate variants --model gpt-5 --each 2
    """
    from lmrbench_data.dataset.build import build_rows

    from ..checks.calibration import calibrate as compare
    from ..checks.calibration import find_variants

    tasks = load_tasks(settings.instances, benchmark)
    predictions = find_variants(tasks, track, each)
    if settings.run == CALIBRATION:
        folder = _calibration_folder(settings.model, track)
        settings = settings.model_copy(update={"run": folder})
    kept = partial(kept_in, settings.run / JUDGEMENTS, "judgements")
    with progress_bar("judging", kept=kept) as progress:
        calibration, summary = compare(settings, predictions, build_rows(tasks), progress)
    emit(
        calibration.as_dict(),
        as_json,
        *_calibration_text(calibration),
        *asking_lines(summary),
        f"judgements: {settings.run}/{JUDGEMENTS}",
    )
    raise typer.Exit(asking_status(summary))


def _calibration_folder(model: str, track: str) -> Path:
    return Path("runs") / re.sub(r"[^\w.-]", "-", f"calibration-{model}-{track}")


def _calibration_text(calibration: "Calibration") -> "Iterator[Part]":
    judge = calibration.judge
    share = calibration.expected(*calibration.judged)
    yield f"{judge.model} (prompt {judge.prompt_version}), {calibration.track} track"
    yield "By kind of variant", calibration.table()
    yield f"as expected: {share.fraction}, 95% {share.bounds}"
    for reason, number in sorted(calibration.left_out.items()):
        yield f"left out: {number} ({reason})"
