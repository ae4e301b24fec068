"""`lmrbench analyse`: the analyses of the LMR-BENCH paper, on the original's facts or on your own runs."""

import typer

from . import dependencies, errors

app = typer.Typer(no_args_is_help=True, help="Tables and analyses of the LMR-BENCH paper, on its data or on your runs.")

app.command("errors")(errors.errors)
app.command("dependencies")(dependencies.dependencies)
