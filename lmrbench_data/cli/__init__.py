"""The command line, `lmrbench`: one module a group of commands; what they do lives elsewhere and is imported when used.

Exit status: 0 all good; 1 the input is wrong; 2 usage; 3 the machinery failed, results are incomplete; 130 interrupted.
"""

import errno
import sys
from typing import Annotated

import typer

from ..text import one_line
from . import (
    agent,
    analyse,
    calibrate,
    dataset,
    evaluate,
    generate,
    images,
    importing,
    judge,
    papers,
    report,
    show,
    submit,
    tasks,
)
from .output import flush, prepare_streams, put, say, say_what_is_logged

app = typer.Typer(
    name="lmrbench",
    help="LMR-Bench: can language models reproduce language-modelling research?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # help is shown as it is written: markup would eat `[@revision]`
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(tasks.app, name="tasks")
app.add_typer(dataset.app, name="dataset")
app.add_typer(images.app, name="images")
app.add_typer(papers.app, name="papers")
app.add_typer(agent.app, name="agent")
app.add_typer(generate.app, name="generate")
app.add_typer(calibrate.app, name="calibrate")
app.add_typer(analyse.app, name="analyse")
app.add_typer(importing.app, name="import")
app.command("run")(generate.run)
app.command("evaluate")(evaluate.evaluate)
app.command("judge")(judge.judge)
app.command("report")(report.report)
app.command("show")(show.show)
app.command("submit")(submit.submit)
app.command("verify")(submit.verify)


#: Arguments of the Python API whose flag has another name.
_FLAGS = {"instances": "instance", "categories": "category", "requests_per_minute": "rpm", "timeout_s": "timeout"}


def _version(shown: bool) -> None:
    if shown:
        from ..version import __version__

        put(f"lmrbench {__version__}")
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
    from ..errors import ArgumentError, LMRBenchError

    prepare_streams()
    say_what_is_logged()
    try:
        try:
            app()
        finally:
            flush()
    except ArgumentError as error:
        flag = _FLAGS.get(error.argument, error.argument.replace("_", "-"))
        _fail(f"--{flag}: {error.problem}", error.exit_code)
    except LMRBenchError as error:
        _fail(str(error), error.exit_code)
    except OSError as error:
        # A place that cannot be read or written is the user's to fix. A disk that is full or broken is the machine's,
        # and so is what network libraries raise, which has no number.
        machine = error.errno in (None, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
        reason = error.strerror or str(error) or type(error).__name__
        _fail(f"{error.filename}: {reason}" if error.filename is not None else reason, 3 if machine else 1)
    except KeyboardInterrupt:
        _fail("interrupted", 130)


def _fail(message: str, status: int) -> None:
    say(f"error: {one_line(message)}")
    sys.exit(status)
