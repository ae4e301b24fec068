"""Arguments that analyses share, and the output of their results."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..output import emit, print_err

if TYPE_CHECKING:
    from ...analyse.result import Analysis

Runs = Annotated[
    list[Path] | None,
    typer.Argument(help="Run folders (default: the original's published data).", metavar="RUN"),
]
Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", help="Also write a file; the extension selects the format: .md, .csv or .json."),
]
Figure = Annotated[
    Path | None, typer.Option("--figure", help="Also draw a figure, .png or .svg; needs the extra `report`.")
]


def check_names(out: Path | None, figure: Path | None = None) -> None:
    """Check the names of the output files before the work.

    Raises:
        ArgumentError: an extension is unknown.
    """
    from ...analyse.result import FIGURES, FORMS, check_name

    if out:
        check_name("out", out, FORMS)
    if figure:
        check_name("figure", figure, FIGURES)


def present(analysis: "Analysis", as_json: bool, out: Path | None, figure: Path | None = None) -> None:
    """Print tables and notes, or JSON; write the files that are named."""
    emit(analysis, as_json)
    if out:
        print_err(f"written: {analysis.save(out)}")
    if figure:
        analysis.draw(figure)
        print_err(f"written: {figure}")
