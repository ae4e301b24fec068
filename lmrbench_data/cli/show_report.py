"""Print a report and the outcome of an evaluation."""

from pathlib import Path
from typing import TYPE_CHECKING

from ..base.text import counted
from .output import output_width, print_table, put, put_styled, say, table_width

if TYPE_CHECKING:
    from lmrbench_evaluate.reports.report import Report
    from lmrbench_evaluate.runs.evaluation import RunSummary

    from ..base.text_table import Table


def print_report(report: "Report", *, notes: bool = False) -> None:
    """Print a report on stdout; it ends with the scores.

    Args:
        notes: also print how to read the numbers.
    """
    print_details(report, notes=notes)
    print_scores(report, notes=notes)


def print_details(report: "Report", *, notes: bool = False) -> None:
    """Print all tables but that of the scores, and the notes if they are wanted."""
    from lmrbench_evaluate.reports.sections import explanations, tables

    if not report.scores:
        return
    names = _numbers(report)
    for title, table in tables(report)[1:]:
        print_table(*_short(table, names), title=title)
    for note in explanations(report) if notes else ():
        put_styled(f"- {note}")


def print_scores(report: "Report", *, notes: bool = False) -> None:
    """Print warnings and the scores of all models: the result, so it comes last.

    Args:
        notes: whether `print_details` has printed the notes.
    """
    from lmrbench_evaluate.reports.sections import explanations, tables, warnings

    if not report.scores:
        put("no results yet")
        return
    (title, (header, rows)), *others = tables(report)
    names = _numbers(report)
    for warning in warnings(report):
        put_styled((f"warning: {warning}", "yellow"))
    if any(_short(table, names) is not table for _, table in others):
        header, rows = ["", *header], [[number, *row] for number, row in zip(names.values(), rows, strict=True)]
    if table_width(header, rows) <= output_width():
        print_table(header, rows, title=title)
    else:
        _print_below(report, title, names)
        put("")
    if not notes:
        put(f"{counted(len(explanations(report)), 'note')} on how to read these numbers: add --notes")


def _print_below(report: "Report", title: str, names: dict[str, str]) -> None:
    """Print the scores of each model below its name, where their table is too wide."""
    from lmrbench_evaluate.reports.score_tables import levels

    several = len({score.run for score in report.scores}) > 1
    width = max(map(len, levels(report.scores)))
    put_styled((title, "italic"))
    for number, score in zip(names.values(), report.scores, strict=True):
        run = f"{score.run}: " if several else ""
        incomplete = "" if score.complete else " [incomplete]"
        name = (f"{run}{score.name}{incomplete}", "bold")
        put_styled(f"{number} ", name, f", {score.track} track", hang=len(number) + 1)
        for level in levels(report.scores):
            share = score.overall.share(level)
            shown = f"{share.fraction}, 95 % {share.bounds}" if score.overall.graded else "nothing graded"
            # The level that ranks the track stands out.
            put_styled(
                " " * (len(number) + 1), (f"{level:{width}}  {shown}", "bold" if level is score.headline else "")
            )


def _numbers(report: "Report") -> dict[str, str]:
    """Return column heading → number of each model, which stands for it in tables that are too wide."""
    from lmrbench_evaluate.reports.score_tables import column

    return {column(score, report.scores): f"#{number}" for number, score in enumerate(report.scores, start=1)}


def _short(table: "Table", names: dict[str, str]) -> "Table":
    """Replace models by numbers in a table that is wider than the terminal."""
    header, rows = table
    if table_width(header, rows) <= output_width():
        return table
    return [names.get(cell, cell) for cell in header], [[names.get(cell, cell) for cell in row] for row in rows]


def print_files(folder: Path) -> None:
    """Print the paths of the results and the report of a run."""
    # A path stays on one line, so that it can be copied.
    put(f"results: {folder}/results.jsonl\nreport:  {folder}/report.md")


def run_status(summary: "RunSummary") -> int:
    """Print the missing parts of a run; return the exit status."""
    if summary.stopped:
        say(f"incomplete: stopped after repeated infrastructure failures ({summary.stopped})")
    if summary.infra_errors:
        failed = counted(summary.infra_errors, "infra error")
        say(f"incomplete: {failed}; re-run the command to retry")
    if summary.stopped or summary.infra_errors:
        return 3
    if summary.bad_rows:
        bad = counted(len(summary.bad_rows), "prediction row")
        say(f"{bad} could not be evaluated; all are listed in {summary.path}/run.json")
    return 1 if summary.bad_rows else 0
