"""`lmrbench report` and `merge`: compare runs in any format; combine the shares of an evaluation."""

import enum
from pathlib import Path
from typing import Annotated

import typer

from ..base.extras import need
from ..base.files import write_atomically
from .options import JudgeModel, Labels, Notes
from .outcomes import report_text
from .output import Json, emit, only_runs, print_err, print_out


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
    made = api.report(*only_runs(runs), judge_model=judge_model, labels=labels)
    if form in (Format.MD, Format.CSV) and not as_json:
        print_out((made.to_csv() if form is Format.CSV else made.to_markdown()).rstrip("\n"))
    else:
        emit(made.to_dict(), as_json or form is Format.JSON, *report_text(made, notes=notes))
    if out:
        print_err(f"written: {made.save(out)}")
    if html:
        write_atomically(html, made.to_html())
        print_err(f"written: {html}")
    if figures:
        for path in made.save_figures(figures):
            print_err(f"written: {path}")
    if made.bad_annotations:
        raise typer.Exit(1)


def merge(
    runs: Annotated[list[Path], typer.Argument(help="Run folders, each on instances of its own.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of the merged run.")],
    notes: Notes = False,
    as_json: Json = False,
) -> None:
    """Merge runs on different instances into one run.

    For evaluations that several machines or batch jobs have shared. Report, judge and show then work on the whole.
    Results are copied unchanged, and nothing is evaluated again.

    Example: lmrbench merge runs/mine/share-* --out runs/mine/whole
    """
    from lmrbench_evaluate.runs.merge import merge_runs

    from ..api.run import open_run, write_report

    run = open_run(merge_runs(runs, out).path)
    write_report(run)
    report = run.report()
    emit(report.to_dict(), as_json, *report_text(report, notes=notes, folder=out))
    if not run.complete:
        print_err("incomplete: evaluate the same predictions into the merged folder to complete it")
        raise typer.Exit(3)
