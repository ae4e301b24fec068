"""`lmrbench doctor`: examine whether evaluation can work here, and say how to fix what cannot."""

import contextlib
import sys
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

import typer

from lmrbench_evaluate.doctor.settings import DoctorSettings

from .options import options
from .output import Json, emit, print_err, print_rich

if TYPE_CHECKING:
    from lmrbench_evaluate.doctor.examine import Check
    from lmrbench_evaluate.doctor.finding import Finding

#: Seconds after which a line says that a check is under way.
PATIENCE_S = 2.0
_COLOURS = {"ok": "green", "problem": "red"}


@options(DoctorSettings)
def doctor(settings: DoctorSettings, as_json: Json = False) -> None:
    """Examine this machine: can evaluation work here?

    Checks engine, image, sandbox, disk, memory, cores, packages, caches and the Hub's token. With --model and --judge
    it also asks these models for one token. Each line says how to fix what it found.

    The exit status is 1 if evaluation, or a model that was named, cannot work.

    Example: lmrbench doctor --model my-model --base-url http://localhost:8000/v1
    """
    from lmrbench_evaluate.doctor.checks import checks
    from lmrbench_evaluate.doctor.examine import examine
    from lmrbench_evaluate.doctor.finding import Status

    findings = []
    for check in checks(settings):
        with _waiting(check):
            found = examine(check)
        findings += found
        if not as_json:
            for item in found:
                _print_finding(item)
    problems = sum(item.status is Status.PROBLEM for item in findings)
    verdict = "\nEvaluation can work here." if not problems else "\nFix the problems above first."
    emit([item.as_dict() for item in findings], as_json, verdict)
    if problems:
        raise typer.Exit(1)


def _print_finding(finding: "Finding") -> None:
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 1))
    grid.add_column(width=8)
    grid.add_column(width=12)
    grid.add_column(overflow="fold")
    text = f"{finding.found}\n\N{RIGHTWARDS ARROW} {finding.fix}" if finding.fix else finding.found
    grid.add_row(Text(finding.status, _COLOURS.get(finding.status, "yellow")), finding.check, Text(text))
    print_rich(grid)


@contextlib.contextmanager
def _waiting(check: "Check") -> Iterator[None]:
    """Say on stderr which check is under way: always in a terminal, elsewhere if it takes a while."""
    if sys.stderr.isatty():
        from rich.console import Console

        with Console(stderr=True).status(f"{check.name} ..."):
            yield
        return
    line = threading.Timer(PATIENCE_S, print_err, [f"{check.name}: may take up to {check.limit_s:g} s"])
    line.daemon = True
    line.start()
    try:
        yield
    finally:
        line.cancel()
