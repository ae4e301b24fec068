"""`lmrbench report`: runs side by side, for the terminal, as Markdown, JSON, CSV or an HTML page."""

import enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..files import write_atomically
from .output import Json, output_width, print_json, print_table, put, say, table_width

if TYPE_CHECKING:
    from ..evaluate.reports.report import Report
    from ..evaluate.reports.tables import Table


class Format(enum.StrEnum):
    """What a report can be written as."""

    TEXT = "text"
    MD = "md"
    JSON = "json"
    CSV = "csv"


def report(
    runs: Annotated[list[Path], typer.Argument(help="Run folders.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write it here: .md, .json, .csv or .html says as what.")
    ] = None,
    html: Annotated[
        Path | None, typer.Option("--html", help="Also write a self-contained page with all answers.")
    ] = None,
    form: Annotated[Format, typer.Option("--format", help="What to print on stdout.")] = Format.TEXT,
    human: Annotated[
        Path | None, typer.Option("--human", help="People's labels (.csv, .jsonl), to compare with the judge.")
    ] = None,
    judge_model: Annotated[
        str | None, typer.Option("--judge-model", help="Whose judgements count; the last one's by default.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Compare runs: reproduced and robust by model, category and instance, recomputed from the result rows.

    With several runs or models also McNemar's test for each pair; with --human the agreement of people and judge.

    Example: lmrbench report runs/a runs/b --html report.html
    """
    from .. import api
    from ..evaluate.reports.report import check_form

    if out:
        check_form(out)
    made = api.report(*runs, judge_model=judge_model, human=human)
    if as_json:
        form = Format.JSON
    match form:
        case Format.TEXT:
            print_report(made)
        case Format.JSON:
            print_json(made.to_dict())
        case _:
            put((made.to_csv() if form is Format.CSV else made.to_markdown()).rstrip("\n"))
    if out:
        say(f"written: {made.save(out)}")
    if html:
        write_atomically(html, made.to_html())
        say(f"written: {html}")
    if made.bad_annotations:
        raise typer.Exit(1)


def print_report(report: "Report") -> None:
    """The tables of a report on stdout."""
    from ..evaluate.reports.sections import notes, tables
    from ..evaluate.reports.tables import column

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
    """A table that is wider than the terminal with numbers in place of models."""
    header, rows = table
    if table_width(header, rows) <= output_width():
        return table
    return [names.get(cell, cell) for cell in header], [[names.get(cell, cell) for cell in row] for row in rows]
