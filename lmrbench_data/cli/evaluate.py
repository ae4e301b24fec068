"""`lmrbench evaluate`: from prediction rows to verdicts and a report."""

import signal
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .judge import Judged, judge_evaluated
from .output import Bar, Json, Workers, print_json, progress_bar, put, say
from .report import print_report

if TYPE_CHECKING:
    from ..evaluate.runs.evaluate import Finished, Progress


def evaluate(
    predictions: Annotated[
        str, typer.Argument(help="File (.jsonl, .json, .parquet), org/name on the Hub, `gold` or `masked`.")
    ],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Run folder; runs/<predictions> by default.")] = None,
    dataset: Annotated[str, typer.Option("--dataset", help="embedded, a folder, or org/name[@revision].")] = "embedded",
    instance: Annotated[list[str] | None, typer.Option("--instance", "-i", help="Only these (repeatable).")] = None,
    category: Annotated[list[str] | None, typer.Option("--category", help="Only these (repeatable).")] = None,
    workers: Workers = 2,
    sandbox: Annotated[str, typer.Option("--sandbox", help="auto, docker or local.")] = "auto",
    timeout_scale: Annotated[
        float, typer.Option("--timeout-scale", min=0.01, max=100, help="Multiplies time limits, for slow machines.")
    ] = 1.0,
    fresh_seeds: Annotated[
        int, typer.Option("--fresh-seeds", min=0, max=100, help="Also test on so many seeds that were never published.")
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
    """
    from ..embedded import ensure_embedded
    from ..evaluate.prediction_files import check_source
    from ..evaluate.reports.report import make_report, render_markdown, report_dict
    from ..evaluate.runs.evaluate import Settings
    from ..evaluate.runs.evaluate import evaluate as run
    from ..evaluate.sandbox import open_sandbox
    from ..loader import load_rows

    check_source(predictions)
    if judge:
        from ..evaluate.judge.client import address_and_key

        address_and_key(judge_base_url)  # said now, not after an hour of tests
    # A polite kill ends like Ctrl-C: containers removed, results kept.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    folder = out or Path("runs") / Path(predictions.replace("@", "-")).stem
    settings = Settings(
        predictions=predictions,
        out=folder,
        dataset=dataset,
        instances=instance or (),
        categories=category or (),
        workers=workers,
        timeout_scale=timeout_scale,
        fresh_seeds=fresh_seeds,
    )
    place = open_sandbox(sandbox, say)
    try:
        if dataset == "embedded":
            ensure_embedded(place.name, say)
        rows = load_rows(dataset)
        with progress_bar("evaluating", shown=not as_json) as bar:
            finished = run(settings, rows, place, say, draw_progress(bar))
    except KeyboardInterrupt:
        say(f"stopped; finished results are in {folder}/, the same command goes on from there")
        sys.exit(130)
    finally:
        place.close()
    judged = None if finished.stopped or not judge else judge_evaluated(folder, judge, judge_base_url, rows, as_json)
    report = make_report([folder])
    (folder / "report.md").write_text(render_markdown(report), encoding="utf-8")
    _write_json(folder / "report.json", report_dict(report))
    for bad in finished.bad_rows[:20]:
        say(f"bad row: {bad}")
    if len(finished.bad_rows) > 20:
        say(f"... and {len(finished.bad_rows) - 20} more bad rows; see {folder}/run.json")
    if as_json:
        print_json({**report_dict(report), **({"judge": judged.as_dict()} if judged else {})})
    else:
        print_report(report)
        if judged:
            judged.print_table()
        put(f"results: {folder}/results.jsonl   report: {folder}/report.md")
    _exit(finished, folder, judged)


def draw_progress(bar: Bar) -> "Progress":
    """Draws a run's progress with counts by status."""
    from ..evaluate.runs.evaluate import Progress
    from ..evaluate.verdict import Status

    class Drawn(Progress):
        def __init__(self) -> None:
            self.counts: Counter[str] = Counter()

        def start(self, jobs: int) -> None:
            bar.total(jobs)

        def done(self, instance_id: str, status: Status) -> None:
            self.counts[str(status)] += 1
            bar.step(self.counts)

    return Drawn()


def _write_json(path: Path, value: Any) -> None:
    import json

    path.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")


def _exit(finished: "Finished", folder: Path, judged: Judged | None) -> None:
    if finished.stopped:
        say(f"incomplete: stopped because the machinery keeps failing ({finished.stopped})")
    if finished.infra_errors:
        say(f"incomplete: {finished.infra_errors} predictions met infra errors; the same command tries only them again")
    status = judged.say_what_is_missing() if judged else 0
    if finished.stopped or finished.infra_errors:
        raise typer.Exit(3)
    if finished.bad_rows:
        say(f"{len(finished.bad_rows)} prediction rows could not be evaluated; all are listed in {folder}/run.json")
    if status or finished.bad_rows:
        raise typer.Exit(status or 1)
