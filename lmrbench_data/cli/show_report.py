"""Print a report and the outcome of an evaluation."""

from typing import TYPE_CHECKING

from ..base.text import counted
from .output import output_width, print_table, put, say, table_width

if TYPE_CHECKING:
    from lmrbench_evaluate.reports.report import Report
    from lmrbench_evaluate.runs.evaluation import RunSummary

    from ..base.text_table import Table


def print_report(report: "Report") -> None:
    """Print the tables of a report on stdout."""
    from lmrbench_evaluate.reports.score_tables import column
    from lmrbench_evaluate.reports.sections import notes, tables

    if not report.scores:
        put("no results yet")
        return
    (title, summary), *others = tables(report)
    names = {column(score, report.scores): f"#{number}" for number, score in enumerate(report.scores, start=1)}
    short = [(name, _short(table, names)) for name, table in others]
    if any(table is not wide for (_, table), (_, wide) in zip(short, others, strict=True)):
        header, rows = summary
        summary = ["", *header], [[number, *row] for number, row in zip(names.values(), rows, strict=True)]
    for name, (header, rows) in ((title, summary), *short):
        print_table(header, rows, title=name)
    for note in notes(report):
        put(note)


def _short(table: "Table", names: dict[str, str]) -> "Table":
    """Replace models by numbers in a table that is wider than the terminal."""
    header, rows = table
    if table_width(header, rows) <= output_width():
        return table
    return [names.get(cell, cell) for cell in header], [[names.get(cell, cell) for cell in row] for row in rows]


def print_files(summary: "RunSummary") -> None:
    """Print the paths of the results and the report of a run."""
    put(f"results: {summary.path}/results.jsonl   report: {summary.path}/report.md")


def run_status(summary: "RunSummary") -> int:
    """Print what is missing in a run; return the exit status."""
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
        if not summary.rows and any("missing key" in row.reason for row in summary.bad_rows):
            say("rename columns with --map THEIRS=OURS, such as --map completion=function")
    return 1 if summary.bad_rows else 0
