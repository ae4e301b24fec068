"""`lmrbench analyse actions`: actions of agents by model and by outcome."""

from pathlib import Path
from typing import Annotated

import typer

from ..output import Json
from .show import Figure, Out, Runs, check_names, present


def actions(
    runs: Runs = None,
    trajectories: Annotated[
        list[Path] | None,
        typer.Option("--trajectories", help="New location of an `agent run` folder, if it has moved (repeatable)."),
    ] = None,
    robust: Annotated[
        bool, typer.Option("--robust", help="Count a session as passed only if its answer is robust.")
    ] = False,
    figure: Figure = None,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Count the actions of agents by kind.

    The kinds are edit, finish, message, read and run. Shows shares by model and by outcome, as in Figures 5 and 6 of
    the LMR-BENCH paper, for its own sessions or for your runs. Pass run folders of `lmrbench evaluate` for an agent's
    predictions, or folders of `agent run`, which have no outcomes. Reads sessions of mini-swe-agent and OpenHands.

    Example: lmrbench analyse actions runs/mini --figure actions.png
    """
    from lmrbench_evaluate.verdict.levels import Level

    from ...analyse.actions import analyse_actions
    from ...analyse.sessions import original_sessions, run_sessions
    from ...base.errors import ArgumentError

    check_names(out, figure)
    if trajectories and not runs:
        raise ArgumentError("trajectories", "applies to runs; name a run as well")
    level = Level.ROBUST if robust else Level.REPRODUCED
    sessions = run_sessions(runs, trajectories or (), level) if runs else original_sessions()
    present(analyse_actions(sessions), as_json, out, figure)
