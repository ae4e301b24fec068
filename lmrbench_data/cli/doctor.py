"""`lmrbench doctor`: examine whether evaluation can work here, and say how to fix what cannot."""

import typer

from lmrbench_evaluate.doctor import DoctorSettings, Finding, Severity

from .options import options
from .output import Json, emit, print_rich

_COLOURS = {"ok": "green", "note": "yellow", "problem": "red"}


@options(DoctorSettings)
def doctor(settings: DoctorSettings, as_json: Json = False) -> None:
    """Examine this machine: can evaluation work here?

    Checks versions, engine, images, sandbox, disk, memory and the Hub's token. With --model it also asks this model for
    one token. Each line says how to fix what it found.

    The exit status is 1 if evaluation, or the model that was named, cannot work.

    Example: lmrbench doctor --model my-model --base-url http://localhost:8000/v1
    """
    from lmrbench_evaluate.doctor.checks import examine

    findings = []
    for finding in examine(settings):
        findings.append(finding)
        if not as_json:
            _print_finding(finding)
    works = all(finding.severity is not Severity.PROBLEM for finding in findings)
    verdict = "\nEvaluation can work here." if works else "\nFix the problems above first."
    emit([finding.as_dict() for finding in findings], as_json, verdict)
    if not works:
        raise typer.Exit(1)


def _print_finding(finding: Finding) -> None:
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 1))
    grid.add_column(width=8)
    grid.add_column(width=12)
    grid.add_column(overflow="fold")
    text = f"{finding.text}\n\N{RIGHTWARDS ARROW} {finding.fix}" if finding.fix else finding.text
    grid.add_row(Text(finding.severity, _COLOURS[finding.severity]), finding.check, Text(text))
    print_rich(grid)
