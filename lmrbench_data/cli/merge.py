"""`lmrbench merge`: combine the shares of an evaluation in one run folder."""

from pathlib import Path
from typing import Annotated

import typer

from .options import Notes
from .output import Json, print_json, say
from .show_report import print_files, print_report


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

    from .. import api

    run = api.open_run(merge_runs(runs, out).path)
    api.write_report(run)
    report = run.report()
    if as_json:
        print_json(report.to_dict())
    else:
        print_report(report, notes=notes)
        print_files(out)
    if not run.complete:
        say("incomplete: evaluate the same predictions into the merged folder to complete it")
        raise typer.Exit(3)
