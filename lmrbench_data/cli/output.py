"""How commands talk: tables and JSON on stdout, everything else on stderr, progress bars where somebody watches."""

import contextlib
import io
import json
import logging
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import typer

from ..progress import Progress
from ..text import visible

Json = Annotated[bool, typer.Option("--json", help="Print JSON on stdout instead of text.")]
Workers = Annotated[int, typer.Option("--workers", "-w", min=1, max=256, help="Sandboxes at a time.")]


def prepare_streams() -> None:
    """Make stdout and stderr fit for any text and any end: closed ones swallow it, narrow encodings escape it."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def say(line: str) -> None:
    """A line for the user, on stderr."""
    # Nobody can be told that stderr is gone.
    with contextlib.suppress(OSError):
        print(visible(line), file=sys.stderr, flush=True)


class _Said(logging.Handler):
    """What the package logs, said to the user."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            text = record.getMessage()
        except Exception:
            self.handleError(record)
            return
        say(f"warning: {text}" if record.levelno >= logging.WARNING else text)


def say_what_is_logged() -> None:
    """Show the package's log, from INFO on, as lines on stderr."""
    logger = logging.getLogger(__package__.partition(".")[0])
    logger.setLevel(logging.INFO)
    logger.propagate = False
    logger.handlers = [_Said()]


def put(text: str) -> None:
    """Text on stdout."""
    _write(visible(text) + "\n")


def print_json(value: Any) -> None:
    """JSON on stdout."""
    _write(json.dumps(value, indent=2, default=str) + "\n")


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]], *, title: str = "") -> None:
    """A table on stdout; contents are shown as they are, never taken as markup."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title or None, title_justify="left", box=SIMPLE_HEAD)
    for number, name in enumerate(header):
        numeric = number > 0 and all(row[number][:1].isdigit() or row[number] == "-" for row in rows)
        table.add_column(Text(visible(name)), justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(visible(cell)) for cell in row))
    # A pipe has no width: lines there are as long as they need to be.
    console = Console(width=None if sys.stdout.isatty() else 240)
    with console.capture() as capture:
        console.print(table)
    _write(capture.get())


def _write(text: str) -> None:
    with _to_stdout():
        sys.stdout.write(text)
        sys.stdout.flush()


def flush() -> None:
    """Bring what is still in the buffer to stdout.

    Raises:
        OSError: it cannot be written.
    """
    with _to_stdout():
        sys.stdout.flush()


@contextlib.contextmanager
def _to_stdout() -> Iterator[None]:
    """A reader that has enough (`| head`) is no reason to stop; a full disk is."""
    try:
        yield
    except OSError as error:
        # What is left in the buffer would be tried again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            raise OSError(error.errno, error.strerror, "standard output") from error


@contextlib.contextmanager
def progress_bar(description: str, *, shown: bool = True) -> Iterator[Progress]:
    """A progress bar on stderr, with counts by label, if that is a terminal and `shown`."""
    if not (shown and sys.stderr.isatty()):
        yield Progress()
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as RichProgress

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    counts = TextColumn("{task.fields[counts]}", markup=False)
    with RichProgress(*columns, counts, console=Console(stderr=True)) as bars:
        yield _Bar(bars, bars.add_task(description, total=None, counts=""))


class _Bar(Progress):
    """One bar of the terminal."""

    def __init__(self, bars: Any, task: Any) -> None:
        self._bars, self._task = bars, task
        self._labels: Counter[str] = Counter()

    def start(self, total: int) -> None:
        self._bars.update(self._task, total=total)

    def step(self, label: str = "") -> None:
        self._labels[label] += 1
        # Names of instances occur once each and would fill the line; statuses and categories are few.
        counts = {label: count for label, count in self._labels.items() if label}
        shown = " ".join(f"{label} {count}" for label, count in counts.items()) if len(counts) <= 8 else ""
        self._bars.update(self._task, advance=1, counts=shown)
