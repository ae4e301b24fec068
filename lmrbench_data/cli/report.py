"""`lmrbench report`: compare runs in the terminal, as Markdown, JSON, CSV, an HTML page or figures of a paper."""

import enum
from pathlib import Path
from typing import Annotated

import typer

from ..base.extras import need
from ..base.files import write_atomically
from .options import JudgeModel, Labels, Notes
from .output import Json, print_json, put, say
from .show_report import print_report


class Format(enum.StrEnum):
    """Formats of standard output."""

    TEXT = "text"
    MD = "md"
    JSON = "json"
    CSV = "csv"


def report(
    runs: Annotated[list[Path], typer.Argument(help="Run folders.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Output file; the extension selects the format: .md, .json, .csv or .html."),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option("--html", dir_okay=False, help="Also write a self-contained HTML page with all answers."),
    ] = None,
    figures: Annotated[
        Path | None,
        typer.Option(
            "--figures",
            file_okay=False,
            help="Also write figures (SVG, PDF) and tables (LaTeX, CSV) for a paper to a folder.",
        ),
    ] = None,
    form: Annotated[Format, typer.Option("--format", help="Format of standard output.")] = Format.TEXT,
    labels: Labels = None,
    judge_model: JudgeModel = None,
    notes: Notes = False,
    as_json: Json = False,
) -> None:
    """Compare runs by model, category and instance.

    Recomputes the shares of reproduced and robust answers from the result rows. The scores come last.

    McNemar's test compares each pair of models, within a run or across runs. --labels adds the agreement between the
    judge and human labels.

    Example: lmrbench report runs/a runs/b --html report.html
    """
    from lmrbench_evaluate.reports.report import check_form

    from .. import api

    if out:
        check_form(out)
    if figures:
        need("report", "--figures")
    made = api.report(*runs, judge_model=judge_model, labels=labels)
    if as_json:
        form = Format.JSON
    match form:
        case Format.TEXT:
            print_report(made, notes=notes)
        case Format.JSON:
            print_json(made.to_dict())
        case _:
            put((made.to_csv() if form is Format.CSV else made.to_markdown()).rstrip("\n"))
    if out:
        say(f"written: {made.save(out)}")
    if html:
        write_atomically(html, made.to_html())
        say(f"written: {html}")
    if figures:
        for path in made.save_figures(figures):
            say(f"written: {path}")
    if made.bad_annotations:
        raise typer.Exit(1)
