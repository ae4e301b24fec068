"""Arguments that analyses share, and how their results are shown and written."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..output import print_json, print_table, put, say

if TYPE_CHECKING:
    from ...analyse.result import Analysis

Runs = Annotated[
    list[Path] | None,
    typer.Argument(help="Run folders, or an import of the original; with none, its published data.", metavar="RUN"),
]
Out = Annotated[
    Path | None, typer.Option("--out", "-o", help="Write it here, too: .md, .csv or .json says as what.")
]  # fmt: skip
Figure = Annotated[Path | None, typer.Option("--figure", help="Draw it here: .png or .svg. Needs the extra `report`.")]
JudgeModel = Annotated[
    str | None, typer.Option("--judge-model", help="Whose judgements count; the last one's by default.")
]


def imported(runs: list[Path] | None) -> Path | None:
    """The folder of an import, if that is what was given in place of runs.

    Raises:
        InputError: it was given beside others.
    """
    from ...analyse.judged_answers import IMPORT
    from ...base.errors import InputError

    found = [path for path in runs or () if (path / IMPORT).is_file()]
    if found and len(runs or ()) > 1:
        raise InputError(f"{found[0]}: an import of the original is analysed alone, not beside runs")
    return found[0] if found else None


def check_names(out: Path | None, figure: Path | None = None) -> None:
    """See before the work whether the results can be written.

    Raises:
        ArgumentError: an ending says nothing.
    """
    from ...analyse.result import FIGURES, FORMS, check_name

    if out:
        check_name("out", out, FORMS)
    if figure:
        check_name("figure", figure, FIGURES)


def present(analysis: "Analysis", as_json: bool, out: Path | None, figure: Path | None = None) -> None:
    """Tables and notes on stdout, or JSON; files if they are named."""
    if as_json:
        print_json(analysis.to_dict())
    else:
        for title, (header, rows) in analysis.tables():
            print_table(header, rows, title=title)
        for note in analysis.notes():
            put(note)
    if out:
        say(f"written: {analysis.save(out)}")
    if figure:
        analysis.draw(figure)
        say(f"written: {figure}")
