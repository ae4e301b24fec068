"""The command line, `lmrbench`: one module a group of commands; what they do lives elsewhere and is imported when used.

Exit status: 0 all good; 1 the input is wrong; 2 usage; 3 finished but incomplete (the machinery failed); 130 interrupted.
"""

import os
import sys
from typing import Annotated

import typer

from lmrbench_data.cli import dataset, evaluate, images, tasks
from lmrbench_data.cli.output import say

app = typer.Typer(
    name="lmrbench",
    help="LMR-Bench: can language models reproduce language-modelling research?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(tasks.app, name="tasks")
app.add_typer(dataset.app, name="dataset")
app.add_typer(images.app, name="images")
app.command("evaluate")(evaluate.evaluate)
app.command("report")(evaluate.report)


def _version(shown: bool) -> None:
    if shown:
        from lmrbench_data.version import __version__

        print(f"lmrbench {__version__}")
        raise typer.Exit()


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Evaluate, build and inspect the benchmark."""


def main() -> None:
    """Run the command line; every foreseen error is one line on stderr."""
    from lmrbench_data.errors import LMRBenchError
    from lmrbench_data.loader import LoadError

    try:
        app()
    except (LMRBenchError, LoadError) as error:
        say(f"error: {error}")
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        say("interrupted")
        sys.exit(130)
    except BrokenPipeError:
        # Whoever read our output has enough (`| head`); Python must not complain about it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
