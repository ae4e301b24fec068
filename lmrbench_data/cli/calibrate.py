"""`lmrbench calibrate variants`: compare a judge with variants of known quality."""

import re
from pathlib import Path
from typing import Annotated

import typer

from lmrbench_evaluate.judge.settings import JudgeSettings

from ..base.settings import option
from .options import BenchmarkFolder, options
from .outcomes import judging_status, tokens_line, votes_line
from .output import Json, emit, progress_bar

app = typer.Typer(no_args_is_help=True, help="Compare a judge with variants of known quality.")

TEMPLATE = Path("runs/calibration-MODEL-TRACK")


@app.callback()
def _group() -> None:
    """Keep the name of the only command."""


@app.command()
@options(
    JudgeSettings,
    without=("dataset",),
    run=option(TEMPLATE, "Folder to write.", "--out", "-o"),
)
def variants(
    settings: JudgeSettings,
    track: Annotated[
        str, typer.Option("--track", help="Track in which to judge the variants: paper or contract.")
    ] = "paper",
    each: Annotated[
        int | None, typer.Option("--each", min=1, help="Maximum number of variants per kind and instance.")
    ] = None,
    benchmark: BenchmarkFolder = None,
    as_json: Json = False,
) -> None:
    """Compare a judge with variants whose quality is known.

    Valid variants should be judged CC, wrong ones LC or LI. Plain and careless variants implement the method but may
    have minor errors, so CC and LC are both accepted. In the contract track, careless variants should be judged LC or
    LI, and plain ones are left out. Re-run the command to resume.

    Example: lmrbench calibrate variants --model gpt-5 --each 2
    """
    from lmrbench_evaluate.reports.calibration import calibrate, find_variants

    from ..dataset.build import build_rows
    from ..tasks.task_folders import load_tasks

    tasks = load_tasks(settings.instances, benchmark)
    predictions = find_variants(tasks, track, settings.instances, each)
    if settings.run == TEMPLATE:
        folder = re.sub(r"[^\w.-]", "-", f"calibration-{settings.model}-{track}")
        settings = settings.model_copy(update={"run": Path("runs") / folder})
    kept = f"judgements so far are in {settings.run}/judgements.jsonl"
    with progress_bar("judging", shown=not as_json, kept=kept) as progress:
        calibration, summary = calibrate(settings, predictions, build_rows(tasks), progress)
    judge = calibration.judge
    emit(
        calibration.as_dict(),
        as_json,
        f"{judge.model} (prompt {judge.prompt_version}) on {len(calibration.rated)} variants, {track} track",
        *calibration.tables(),
        *(f"left out: {count} ({reason})" for reason, count in sorted(calibration.left_out.items())),
        tokens_line(summary),
        votes_line(summary),
        f"judgements: {settings.run}/judgements.jsonl",
    )
    if status := judging_status(summary):
        raise typer.Exit(status)
