"""`lmrbench report`: runs side by side, for the terminal, as Markdown, JSON, CSV or an HTML page."""

import enum
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .output import Json, print_table, put, say

if TYPE_CHECKING:
    from ..evaluate.reports.report import Report


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
    """Compare runs: accuracy with intervals by model, category and instance, recomputed from the result rows.

    With several runs or models also McNemar's test for each pair; with --human the agreement of people and judge.
    """
    from ..evaluate.reports.annotations import read_annotations
    from ..evaluate.reports.report import make_report

    annotations, bad = read_annotations(human) if human else (None, [])
    made = make_report(runs, judge_model=judge_model, annotations=annotations, bad_annotations=bad)
    for row in bad[:20]:
        say(f"bad row: {row}")
    if len(bad) > 20:
        say(f"... and {len(bad) - 20} more bad rows")
    if as_json:
        form = Format.JSON
    if form is Format.TEXT:
        print_report(made)
    else:
        put(render(made, form).rstrip("\n"))
    for path in [path for path in (out, html) if path]:
        page = path is html or path.suffix == ".html"
        kind = {".json": Format.JSON, ".csv": Format.CSV}.get(path.suffix, Format.MD)
        content = render_page(made) if page else render(made, kind)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
        say(f"written: {path}")
    if bad:
        raise typer.Exit(1)


def print_report(report: "Report") -> None:
    """The tables of a report on stdout."""
    from ..evaluate.reports.report import tables

    if not report.scores:
        put("no results yet")
        return
    for title, table in tables(report):
        print_table(*table, title=title)


def render(report: "Report", form: Format) -> str:
    """A report as text of some format."""
    from ..evaluate.reports.report import render_csv, render_markdown, report_dict

    if form is Format.JSON:
        return json.dumps(report_dict(report), indent=2) + "\n"
    return render_csv(report) if form is Format.CSV else render_markdown(report)


def render_page(report: "Report") -> str:
    """A report as a self-contained HTML page."""
    from ..evaluate.reports.html import render_html

    return render_html(report)
