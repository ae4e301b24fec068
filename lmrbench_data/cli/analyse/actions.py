"""`lmrbench analyse actions`: what agents do, by model and by outcome."""

from pathlib import Path
from typing import Annotated

import typer

from ..output import Json
from .show import Figure, Out, Runs, check_names, imported, present


def actions(
    runs: Runs = None,
    trajectories: Annotated[
        list[Path] | None,
        typer.Option("--trajectories", help="Folder of `agent run`, if it has moved since (repeatable)."),
    ] = None,
    robust: Annotated[
        bool, typer.Option("--robust", help="A session has passed if its answer is robust, not only reproduced.")
    ] = False,
    figure: Figure = None,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Count what agents do: edit, finish, message, read, run.

    Shares by model and by outcome, as in the LMR-BENCH paper's Figures 5 and 6: of its own sessions, or of your runs.
    Give run folders that were evaluated from an agent's predictions; an agent's own folder does, without outcomes.
    Known are the records of mini-swe-agent and OpenHands.

    Example: lmrbench analyse actions runs/mini --figure actions.png
    """
    from lmrbench_evaluate.verdict.levels import Level

    from ...analyse.actions import analyse_actions
    from ...analyse.sessions import original_sessions, run_sessions
    from ...base.errors import ArgumentError

    check_names(out, figure)
    original = imported(runs)
    if trajectories and (original or not runs):
        raise ArgumentError("trajectories", "are of runs; name a run, too")
    level = Level.ROBUST if robust else Level.REPRODUCED
    is_run = runs and not original
    found = run_sessions(runs or (), trajectories or (), level) if is_run else original_sessions(original)
    present(analyse_actions(found), as_json, out, figure)
