"""The command line in this process and in a terminal."""

import contextlib
import io
import logging
import os
import pty
import re
import signal
import subprocess
import sys
import termios
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lmrbench.cli import main
from lmrbench.cli.flags import command_flags

PROGRAM = (sys.executable, "-c", "from lmrbench.cli import main; main()")


@dataclass
class Done:
    """The result of a command."""

    returncode: int
    stdout: str
    stderr: str


def python(code: str, *arguments: object, **options: Any) -> str:
    """Return the output of a program in a fresh Python process."""
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def in_process(*arguments: str | Path, cwd: Path | None = None, **variables: str) -> Done:
    """Run a command in this process: starting Python anew takes longer than all the rest."""
    out, err, handler = io.StringIO(), io.StringIO(), signal.getsignal(signal.SIGTERM)
    status: Any = 0
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        patch.setattr(sys, "argv", ["lmrbench", *map(str, arguments)])
        command_flags.clear()  # of an earlier command in this process
        for logger in map(logging.getLogger, ("lmrbench_data", "lmrbench_evaluate")):
            patch.setattr(logger, "propagate", logger.propagate)  # restored, or pytest 8 sees no logs of later tests
            patch.setattr(logger, "handlers", logger.handlers)
        for name, value in variables.items():
            patch.setenv(name, value)
        if cwd:
            patch.chdir(cwd)
        try:
            main()
        except SystemExit as stop:
            status = stop.code
        finally:
            signal.signal(signal.SIGTERM, handler)
    return Done(status or 0, out.getvalue(), err.getvalue())


def in_terminal(width: int, *arguments: str) -> str:
    """Run a command in a terminal of this width; return its output, colours included."""
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (50, width))
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    environment["TERM"] = "xterm-256color"
    process = subprocess.Popen([*PROGRAM, *arguments], stdout=slave, stderr=slave, env=environment)
    os.close(slave)
    output = b""
    with contextlib.suppress(OSError):  # Linux reports the closed end as an error
        while chunk := os.read(master, 65536):
            output += chunk
    assert process.wait() == 0, output
    return output.decode()


def plain(output: str) -> str:
    """A terminal's output without colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", output).replace("\r", "")
