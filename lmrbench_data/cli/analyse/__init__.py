"""`lmrbench analyse`: the analyses of the LMR-BENCH paper, on the original's facts or on your own runs."""

import typer

from . import dependencies, errors, familiarity

app = typer.Typer(no_args_is_help=True, help="Tables and analyses of the LMR-BENCH paper, on its data or on your runs.")

app.command("errors")(errors.errors)
app.add_typer(familiarity.app, name="familiarity")
app.command("dependencies")(dependencies.dependencies)
