"""`lmrbench calibrate`: compare a judge with human labels or with variants of known quality."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lmrbench_evaluate.judge.settings import JudgeSettings

from ..base.settings import option
from .options import BenchmarkFolder, JudgeModel, MovedDataset, options
from .output import Json, interruptible, print_json, print_table, put, say
from .progress import progress_bar
from .show_judging import judging_status, print_votes

if TYPE_CHECKING:
    from lmrbench_evaluate.reports.calibration import Calibration

app = typer.Typer(no_args_is_help=True, help="Compare a judge with human labels or known variants.")

TEMPLATE = Path("runs/calibration-MODEL-TRACK")

RunsOfJudge = Annotated[
    list[Path] | None, typer.Option("--run", help="Run folder whose report shows this judge's result (repeatable).")
]


@app.command()
def labels(
    file: Annotated[Path, typer.Argument(help="Human labels (.csv, .jsonl).", metavar="FILE")],
    runs: Annotated[list[Path], typer.Argument(help="Judged run folders.", metavar="RUN...")],
    judge_model: JudgeModel = None,
    dataset: MovedDataset = None,
    as_json: Json = False,
) -> None:
    """Compare a judge with human labels.

    Shows agreement, kappa, confusion, and bias by length and by similarity.

    Sends no requests. The reports of the runs show the result beside the judge's scores.

    Example: lmrbench calibrate labels labels.csv runs/mine
    """
    from lmrbench_evaluate.reports.annotations import read_annotations
    from lmrbench_evaluate.reports.calibration_sources import calibrate_by_labels

    from ..dataset.load import load_rows

    annotations, bad = read_annotations(file)
    for row in bad:
        say(f"bad row: {row}")
    rows = load_rows(dataset) if dataset else None
    _show(calibrate_by_labels(runs, annotations, judge_model, rows), runs, as_json)
    if bad:
        raise typer.Exit(1)


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
    runs: RunsOfJudge = None,
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

    Example: lmrbench calibrate variants --model gpt-5 --each 2 --run runs/mine
    """
    from lmrbench_evaluate.judge.variants import variants as find_variants
    from lmrbench_evaluate.reports.calibration_sources import calibrate_on_variants

    from .. import api
    from ..dataset.build import build_rows
    from ..tasks.task_folders import load_tasks

    for folder in runs or ():
        api.open_run(folder)
    tasks = load_tasks(settings.instances, benchmark)
    found = find_variants(tasks, track, settings.instances, each)
    default = Path("runs") / re.sub(r"[^\w.-]", "-", f"calibration-{settings.model}-{track}")
    if settings.run == TEMPLATE:
        settings = settings.model_copy(update={"run": default})
    with (
        interruptible(f"judgements so far are in {settings.run}/judgements.jsonl"),
        progress_bar("judging", shown=not as_json) as progress,
    ):
        calibration, summary = calibrate_on_variants(settings, found, build_rows(tasks), progress)
    # A report shows complete calibrations only.
    _show(calibration, [settings.run, *(runs or ())] if summary.complete else [], as_json)
    if not as_json:
        print_votes(summary)
    if status := judging_status(summary):
        raise typer.Exit(status)


def _show(calibration: "Calibration", folders: Sequence[Path], as_json: bool) -> None:
    """Print a calibration and save it in folders; rewrite the reports of those that are runs."""
    from lmrbench_evaluate.reports.calibration_file import FILE, judge_of, keep
    from lmrbench_evaluate.reports.calibration_tables import all_tables

    from .. import api

    for folder in folders:
        keep(calibration, folder)
        if (run := api.Run(folder)).exists:
            api.write_report(run)
            if judge_of(folder) != calibration.judge:
                say(f"{folder}: its report does not show this; another judge, server or prompt was used last")
    if as_json:
        print_json(calibration.as_dict())
        return
    judge = calibration.judge
    put(f"{judge.model} (prompt {judge.prompt_version}) on {len(calibration.rated)} answers: {calibration.source}")
    for title, (header, rows) in all_tables(calibration):
        print_table(header, rows, title=title)
    put("gamma, from -1 to 1: among answers of equal quality with different categories, how much more often the longer")
    put("or more similar one got the better category; p by permutation. Intervals of kappa: bootstrap over instances.")
    for reason, count in sorted(calibration.left_out.items()):
        put(f"left out: {count} ({reason})")
    if folders:
        put(f"saved in: {', '.join(str(folder / FILE) for folder in folders)}")
