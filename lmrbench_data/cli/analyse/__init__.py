"""`lmrbench analyse`: the analyses of the LMR-BENCH paper, on the original's facts or on your own runs."""

import typer

from . import actions, errors, familiarity, structure, tables

app = typer.Typer(no_args_is_help=True, help="Run the paper's analyses on its data or on your runs.")
app.command("tables")(tables.tables)
app.command("actions")(actions.actions)
app.command("structure")(structure.structure)
app.command("errors")(errors.errors)
app.add_typer(familiarity.app, name="familiarity")
