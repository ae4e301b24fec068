"""`lmrbench evaluate`: from prediction rows to verdicts and a report."""

import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..text import counted
from .judge import Judged, judge_and_keep_going
from .output import Json, Workers, print_json, progress_bar, put, say
from .report import print_report

if TYPE_CHECKING:
    from ..api import Run


def evaluate(
    predictions: Annotated[
        str,
        typer.Argument(
            help="File (.jsonl, .json, .parquet), folder of save_to_disk, org/name[@revision] on the Hub, `-` for "
            "JSON lines on stdin, `gold` or `masked`."
        ),
    ],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Run folder; runs/<predictions>-<hash> by default.")
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option(
            "--map", metavar="THEIRS=OURS", help="A column that has another name, as completion=function (repeatable)."
        ),
    ] = None,
    dataset: Annotated[str, typer.Option("--dataset", help="embedded, a folder, or org/name[@revision].")] = "embedded",
    instance: Annotated[list[str] | None, typer.Option("--instance", "-i", help="Only these (repeatable).")] = None,
    category: Annotated[list[str] | None, typer.Option("--category", help="Only these (repeatable).")] = None,
    workers: Workers = 2,
    sandbox: Annotated[
        str, typer.Option("--sandbox", help="auto, docker, local, or package.module:name of your own.")
    ] = "auto",
    timeout_scale: Annotated[
        float, typer.Option("--timeout-scale", min=0.01, max=100, help="Multiplies time limits, for slow machines.")
    ] = 1.0,
    fresh_seeds: Annotated[
        int, typer.Option("--fresh-seeds", min=0, max=100, help="Number of unpublished seeds to test on as well.")
    ] = 0,
    judge: Annotated[
        str | None, typer.Option("--judge", help="Then have this model judge the answers; see `lmrbench judge`.")
    ] = None,
    judge_base_url: Annotated[
        str | None, typer.Option("--judge-base-url", help="Its OpenAI-compatible server; OpenAI by default.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Evaluate predictions: rebuild each repository, run its tests in a sandbox, compare outside, write the results.

    The same command again resumes a run that was stopped.

    Example: lmrbench evaluate predictions.jsonl --out runs/mine --workers 4
    """
    from .. import api
    from ..errors import ArgumentError
    from ..evaluate.columns import parse_columns

    if judge:
        from ..chat.address import address_and_key

        try:
            address_and_key(judge_base_url)  # said now, not after an hour of tests
        except ArgumentError as error:
            raise ArgumentError(f"judge_{error.argument}", error.problem) from error
    # A polite kill ends like Ctrl-C: containers removed, results kept.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with progress_bar("evaluating", shown=not as_json) as progress:
            run = api.evaluate(
                predictions,
                out,
                map=parse_columns(columns or ()),
                dataset=dataset,
                instances=instance or (),
                categories=category or (),
                workers=workers,
                sandbox=sandbox,
                timeout_scale=timeout_scale,
                fresh_seeds=fresh_seeds,
                progress=progress,
            )
    except KeyboardInterrupt:
        say("stopped; finished results are kept, and the same command resumes the run")
        sys.exit(130)
    stopped = run.summary is not None and run.summary.stopped
    judged = judge_and_keep_going(run, judge, judge_base_url, as_json) if judge and not stopped else None
    made = run.report()
    if as_json:
        print_json({**made.to_dict(), **({"judge": judged.as_dict()} if judged else {})})
    else:
        print_report(made)
        if judged:
            judged.print_table()
        put(f"results: {run.path}/results.jsonl   report: {run.path}/report.md")
    _exit(run, judged)


def _exit(run: "Run", judged: Judged | None) -> None:
    """Say what is missing, and end with the status that follows."""
    summary = run.summary
    assert summary is not None
    if summary.stopped:
        say(f"incomplete: stopped because the machinery keeps failing ({summary.stopped})")
    if summary.infra_errors:
        say(f"incomplete: {summary.infra_errors} predictions met infra errors; the same command retries only them")
    status = judged.say_what_is_missing() if judged else 0
    if summary.stopped or summary.infra_errors:
        raise typer.Exit(3)
    if summary.bad_rows:
        bad = counted(len(summary.bad_rows), "prediction row")
        say(f"{bad} could not be evaluated; all are listed in {run.path}/run.json")
        if not summary.rows and any("missing key" in row.reason for row in summary.bad_rows):
            say("columns that have other names are read with --map THEIRS=OURS, such as --map completion=function")
    if status or summary.bad_rows:
        raise typer.Exit(status or 1)
