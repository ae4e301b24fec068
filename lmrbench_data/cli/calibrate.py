"""`lmrbench calibrate`: how far a judge is right where it is known what is right, by people or on variants."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .judge import MaxCost, Model, Votes, print_costs, say_what_is_missing
from .model_options import BaseUrl, Instances, MaxTokens, NoCache, Prices, Questions, Retries, Rpm, Timeout
from .options import MovedDataset
from .output import Json, interruptible, print_json, print_table, progress_bar, put, say

if TYPE_CHECKING:
    from ..evaluate.reports.calibration import Calibration

app = typer.Typer(no_args_is_help=True, help="How far a judge is right: against people's labels, or on known variants.")

Runs = Annotated[
    list[Path] | None, typer.Option("--run", help="Runs of this judge whose reports are to show it (repeatable).")
]


@app.command()
def labels(
    file: Annotated[Path, typer.Argument(help="People's labels (.csv, .jsonl).", metavar="FILE")],
    runs: Annotated[list[Path], typer.Argument(help="Run folders that a judge has judged.", metavar="RUN...")],
    judge_model: Annotated[
        str | None, typer.Option("--judge-model", help="Which judge, if there are several; the last one by default.")
    ] = None,
    dataset: MovedDataset = None,
    as_json: Json = False,
) -> None:
    """Compare a run's judge with people: agreement, kappa, confusion, and bias by length and by similarity.

    Nobody is asked anything. The reports of the runs show the result beside the judge's scores.

    Example: lmrbench calibrate labels labels.csv runs/mine
    """
    from ..evaluate.reports.annotations import read_annotations
    from ..evaluate.reports.calibrate import calibrate_by_labels
    from ..loader import load_rows

    annotations, bad = read_annotations(file)
    for row in bad:
        say(f"bad row: {row}")
    rows = load_rows(dataset) if dataset else None
    _show(calibrate_by_labels(runs, annotations, judge_model, rows), runs, as_json)
    if bad:
        raise typer.Exit(1)


@app.command()
def variants(
    model: Model,
    track: Annotated[
        str,
        typer.Option("--track", help="What the variants are judged as: paper, or contract (it is shown, and binds)."),
    ] = "paper",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder; by default runs/calibration-MODEL-TRACK.")
    ] = None,
    run: Runs = None,
    each: Annotated[
        int | None, typer.Option("--each", min=1, help="At most so many of a kind and instance, for a quick look.")
    ] = None,
    base_url: BaseUrl = None,
    votes: Votes = 1,
    prices: Prices = None,
    max_cost: MaxCost = None,
    workers: Questions = 4,
    rpm: Rpm = None,
    retries: Retries = 5,
    timeout: Timeout = 300.0,
    max_tokens: MaxTokens = None,
    instance: Instances = None,
    benchmark: Annotated[
        Path | None,
        typer.Option(
            "--benchmark", help="Folder of tasks; the installed one by default.", exists=True, file_okay=False
        ),
    ] = None,
    no_cache: NoCache = False,
    as_json: Json = False,
) -> None:
    """Have a judge judge the benchmark's own variants, of which it is known whether they are right.

    Valid ones are CC; wrong ones are not. Plain and careless ones have the method right, so they are CC in the paper
    track; in the contract track careless ones are not, and plain ones are left out. The same command again asks only
    for what is missing.

    Example: lmrbench calibrate variants --model gpt-5 --each 2 --run runs/mine
    """
    from ..build import build_rows
    from ..chat.client import Endpoint
    from ..evaluate.judge.cache import Cache
    from ..evaluate.judge.settings import JudgeSettings
    from ..evaluate.judge.variants import variants as find_variants
    from ..evaluate.reports.calibrate import calibrate_on_variants
    from ..evaluate.runs.results import read_facts
    from ..tasks import load_tasks

    for folder in run or ():
        read_facts(folder)
    tasks = load_tasks(instance or (), benchmark)
    found = find_variants(tasks, track, instance or (), each)
    place = out or Path("runs") / re.sub(r"[^\w.-]", "-", f"calibration-{model}-{track}")
    settings = JudgeSettings(
        place,
        Endpoint(model, base_url, retries, timeout, max_tokens, rpm),
        votes,
        workers,
        prices,
        max_cost,
        cache=Cache(None) if no_cache else Cache.of_user(),
    )
    with (
        interruptible(f"judgements so far are in {place}/judgements.jsonl"),
        progress_bar("judging", shown=not as_json) as progress,
    ):
        calibration, summary = calibrate_on_variants(settings, found, build_rows(tasks), progress)
    # Half a calibration may be shown, but no report should rest on it.
    _show(calibration, [place, *(run or ())] if summary.complete else [], as_json)
    if not as_json:
        print_costs(summary)
    if status := say_what_is_missing(summary):
        raise typer.Exit(status)


def _show(calibration: "Calibration", folders: Sequence[Path], as_json: bool) -> None:
    """Print a calibration and keep it in folders, whose reports are written anew if they are runs'."""
    from .. import api
    from ..evaluate.reports.calibration import FILE, judge_of, keep
    from ..evaluate.reports.calibration_tables import all_tables

    for folder in folders:
        keep(calibration, folder)
        if (folder / "run.json").is_file():
            api.write_report(api.open_run(folder))
            if judge_of(folder) != calibration.judge:
                say(f"{folder}: another judge, server or prompt judged it last, so its report does not show this")
    if as_json:
        print_json(calibration.as_dict())
        return
    judge = calibration.judge
    put(f"{judge.model} (prompt {judge.prompt_version}) on {len(calibration.rated)} answers: {calibration.source}")
    for title, (header, rows) in all_tables(calibration):
        print_table(header, rows, title=title)
    put(
        "gamma: of two answers that deserve the same and got another category, how much more often the one with more of"
    )
    put("it got the better one, from -1 to 1; p by permutation. Intervals of kappa: bootstrap over instances.")
    for reason, count in sorted(calibration.left_out.items()):
        put(f"left out: {count} ({reason})")
    if folders:
        put(f"kept in: {', '.join(str(folder / FILE) for folder in folders)}")
