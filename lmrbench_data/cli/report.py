"""`lmrbench report`: runs side by side, for the terminal, as Markdown, JSON, CSV or an HTML page."""

import enum
from pathlib import Path
from typing import Annotated

import typer

from ..base.files import write_atomically
from .output import Json, print_json, put, say
from .show_report import print_report


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
    """Compare runs by model, category and instance.

    Shares of reproduced and robust answers are recomputed from the result rows.

    With several runs or models also McNemar's test for each pair; with --human the agreement of people and judge.

    Example: lmrbench report runs/a runs/b --html report.html
    """
    from lmrbench_evaluate.reports.report import check_form

    from .. import api

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
