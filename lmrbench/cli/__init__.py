"""The command line, `lmrbench`: one module for each group of commands; these import code lazily.

Exit status: 0 success; 1 wrong input; 2 wrong usage; 3 infrastructure failure, results are
incomplete; 130 interrupted.
"""

import errno
import shutil
import sys
from collections.abc import Callable
from typing import Annotated

import typer

from lmrbench_data.base.errors import ArgumentError, InputError, LMRBenchError
from lmrbench_data.base.text import one_line
from lmrbench_data.base.version import __version__

try:
    from . import agent, analyse, dataset, evaluate, generate, images, papers, report, submit, tasks
    from .flags import flag_of, with_flags
    from .help import ORDER, GroupedCommand, GroupedHelp
    from .options import MAINTAIN
    from .output import flush, log_to_stderr, prepare_streams, print_err, print_out
except InputError as error:  # this system cannot evaluate
    sys.exit(f"error: {error}")

#: Heading in the help → its commands.
GROUPS: dict[str, dict[str, typer.Typer | Callable[..., None]]] = {
    "Evaluate": {
        "run": generate.run,
        "generate": generate.app,
        "agent": agent.app,
        "evaluate": evaluate.evaluate,
        "judge": evaluate.judge,
        "export": tasks.export,
        "doctor": images.doctor,
    },
    "Compare": {
        "report": report.report,
        "show": report.show,
        "merge": report.merge,
        "calibrate": evaluate.calibrate,
        "analyse": analyse.app,
    },
    "Publish": {"submit": submit.submit},
    "Author": {
        "tasks": tasks.app,
        "dataset": dataset.app,
        "images": images.app,
        "papers": papers.app,
    },
    MAINTAIN: {"verify": submit.verify, "space": submit.space},
}
ORDER += [name for commands in GROUPS.values() for name in commands]

app = typer.Typer(
    name="lmrbench",
    cls=GroupedHelp,
    help="LMR-Bench: can language models reproduce language-modelling research?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # markup would remove `[@revision]` from the help
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _heading, _commands in GROUPS.items():
    for _name, _command in _commands.items():
        if isinstance(_command, typer.Typer):
            app.add_typer(_command, name=_name, cls=GroupedHelp, rich_help_panel=_heading)
        else:
            app.command(
                _name, cls=GroupedCommand if _name == "run" else None, rich_help_panel=_heading
            )(_command)


def _version(shown: bool) -> None:
    if shown:
        print_out(f"lmrbench {__version__}")
        raise typer.Exit()


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Evaluate, build and inspect the benchmark."""


def main() -> None:
    """Run the command line; print each expected error as one line on stderr."""
    prepare_streams()
    log_to_stderr()
    try:
        try:
            app()
        finally:
            flush()
    except ArgumentError as error:
        flag = flag_of(error.argument)
        _fail(f"{flag}: {error.problem}" if flag else error.problem, error.exit_code)
    except LMRBenchError as error:
        _fail(str(error), error.exit_code)
    except shutil.Error as error:
        _, target, reason = error.args[0][0]
        _fail(f"{target}: {reason}", 3)
    except OSError as error:
        # The user fixes a path that cannot be read or written. A full or broken disk and errors of
        # network libraries, which have no number, are infrastructure failures.
        machine = error.errno in (None, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
        reason = error.strerror or str(error) or type(error).__name__
        _fail(
            f"{error.filename}: {reason}" if error.filename is not None else reason,
            3 if machine else 1,
        )
    except KeyboardInterrupt:
        _fail("interrupted", 130)


def _fail(message: str, status: int) -> None:
    print_err(f"error: {one_line(with_flags(message))}")
    sys.exit(status)
