"""Output of commands: the result as text or JSON on stdout, messages and progress on stderr."""

import contextlib
import io
import json
import logging
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lmrbench_data.base.jobs import Progress
from lmrbench_data.base.text import split_text, visible
from lmrbench_evaluate.reports.text_table import Table

from .flags import with_flags

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as RichProgress
    from rich.table import Column

#: Width of a table in a file or a pipe, where nothing is wrapped.
PIPE_WIDTH = 1000
#: In a table that lacks room, names, prose and headings are folded to no less than the first;
#: numbers stay whole, and are shorter than names that begin with a digit.
FOLD_WIDTH, NUMBER_WIDTH = 16, 24
#: Seconds between two lines about a long job without a terminal.
LOG_EVERY_S = 30.0
#: Most labels whose counts a bar shows.
MAX_LABELS = 8

Json = Annotated[bool, typer.Option("--json", help="Print JSON on stdout instead of text.")]


def emit(result: Any, as_json: bool, *parts: "str | tuple[str, Table]") -> None:
    """Print the result of a command as JSON, or its parts: lines, and tables with titles."""
    if as_json:
        _write(json.dumps(result, indent=2, default=str) + "\n")
        return
    for part in parts:
        if isinstance(part, str):
            print_out(part)
        else:
            _print_table(*part)


def print_out(text: str) -> None:
    """Print text on stdout."""
    _write(visible(text) + "\n")


def print_err(line: str) -> None:
    """Print a line on stderr."""
    with contextlib.suppress(OSError):
        print(visible(line), file=sys.stderr, flush=True)


def _print_table(title: str, table: Table) -> None:
    """Print a table, or a list of its rows where the numbers lack room."""
    from rich.box import SIMPLE_HEAD
    from rich.cells import cell_len
    from rich.table import Table as RichTable

    header, *rows = [list(map(visible, row)) for row in (table[0], *table[1])]
    cells = list(zip(header, *rows, strict=True))
    room = _console().width
    widths = [max(map(cell_len, column)) for column in cells]
    is_narrow = _table_width(widths) > room
    columns = [_column(*column, is_narrow=is_narrow) for column in cells]
    least = [column.min_width or 0 for column in columns]
    if _table_width(least) > room:
        _print_list(title, header, rows)
        return
    columns[0].no_wrap = _table_width([widths[0], *least[1:]]) <= room
    shown = RichTable(*columns, title=title or None, title_justify="left", box=SIMPLE_HEAD)
    for row in rows:
        shown.add_row(*row)
    print_rich(shown)


def _table_width(widths: Iterable[int]) -> int:
    return 1 + sum(width + 3 for width in widths)


def _column(heading: str, *cells: str, is_narrow: bool) -> "Column":
    """Return a column of a table: numbers stay whole; names, prose and headings fold."""
    from rich.cells import cell_len
    from rich.table import Column

    widest = max(map(cell_len, cells), default=1)
    if widest > NUMBER_WIDTH or any(cell[:1] not in {*"+-0123456789"} for cell in cells):
        least = min(FOLD_WIDTH, max(widest, cell_len(heading)))
        return Column(heading, overflow="fold", min_width=least)
    words = max(map(cell_len, heading.split()), default=1)
    least = max(widest, min(FOLD_WIDTH, words))
    width = least if is_narrow else None
    return Column(heading, justify="right", overflow="fold", min_width=least, width=width)


def _print_list(title: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a line for each cell, behind its heading."""
    from rich.text import Text

    lines = [title]
    for row in rows:
        lines += ["", *map(": ".join, zip(header, row, strict=True))]
    print_rich(Text("\n".join(lines) + "\n", overflow="fold"))


def print_rich(item: Any) -> None:
    """Print a renderable of rich; a string in it is never markup."""
    terminal = _console()
    with terminal.capture() as capture:
        terminal.print(item)
    _write("".join(f"{line.rstrip()}\n" for line in split_text(capture.get())))


def _console() -> "Console":
    from rich.console import Console

    plain: dict[str, Any] = {"highlight": False, "markup": False, "emoji": False}
    if not sys.stdout.isatty():
        return Console(width=PIPE_WIDTH, color_system=None, **plain)
    # rich itself keeps bold and italics where NO_COLOR is set.
    return Console(color_system=None if os.environ.get("NO_COLOR") else "auto", **plain)


def _write(text: str) -> None:
    with _to_stdout():
        sys.stdout.write(text)
        sys.stdout.flush()


def flush() -> None:
    """Flush stdout."""
    with _to_stdout():
        sys.stdout.flush()


@contextlib.contextmanager
def _to_stdout() -> Iterator[None]:
    """Ignore a closed pipe (`| head`); report a full disk."""
    try:
        yield
    except OSError as error:
        # Python would write the rest of the buffer again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            raise OSError(error.errno, error.strerror, "standard output") from error


def prepare_streams() -> None:
    """Let stdout and stderr take any text: closed ones swallow it, narrow encodings escape it."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


class _LogToStderr(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        prefix = "warning: " if record.levelno >= logging.WARNING else ""
        print_err(prefix + with_flags(record.getMessage()))


def log_to_stderr() -> None:
    """Print the logs of all packages on stderr, from INFO on."""
    for package in ("lmrbench", "lmrbench_data", "lmrbench_evaluate"):
        logger = logging.getLogger(package)
        logger.setLevel(logging.INFO)
        logger.propagate = False
        logger.handlers = [_LogToStderr()]


def only_runs(paths: list[Path]) -> list[Path]:
    """Leave out files and folders that are not runs, with a line on each.

    All stay if none is a run: the error says why.
    """
    from lmrbench_evaluate.runs.folder import RunFolder

    runs = [path for path in paths if RunFolder(path).exists or not path.exists()]
    if not runs:
        return paths
    for path in paths:
        if path not in runs:
            print_err(f"skipped: {path} is not a run folder")
    return runs


@contextlib.contextmanager
def progress_bar(description: str, *, kept: str | Callable[[], str] = "") -> Iterator[Progress]:
    """Show progress on stderr: a bar in a terminal, a line from time to time elsewhere.

    Args:
        kept: a clause that says where finished results are, or a function that returns it; with it,
            SIGINT and SIGTERM stop the work cleanly.
    """
    from rich import progress
    from rich.console import Console

    if kept:
        signal.signal(signal.SIGTERM, _interrupt)
    terminal = Console(stderr=True, no_color=bool(os.environ.get("NO_COLOR")))
    columns = (
        *progress.Progress.get_default_columns(),
        progress.MofNCompleteColumn(),
        progress.TextColumn("{task.fields[counts]}", markup=False),
    )
    try:
        with progress.Progress(*columns, console=terminal, disable=not sys.stderr.isatty()) as bars:
            yield _Steps(description, bars)
    except KeyboardInterrupt:
        if not kept:
            raise
        print_err(f"stopped; {kept() if callable(kept) else kept}; re-run the command to resume")
        sys.exit(130)


def _interrupt(*_: object) -> None:
    """Stop as Ctrl-C does: the event loop handles it, drops requests and keeps results."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a background job of a script
        signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.raise_signal(signal.SIGINT)


class _Steps(Progress):
    """Counts steps by their label, for a bar or for a line every `LOG_EVERY_S` seconds."""

    def __init__(self, description: str, bars: "RichProgress") -> None:
        self._description = description
        self._bars = bars
        self._task = bars.add_task(description, total=None, counts="")
        self._labels: Counter[str] = Counter()
        self._total = 0
        self._printed = time.monotonic()

    def start(self, total: int) -> None:
        self._total = total
        self._bars.update(self._task, total=total)

    def step(self, label: str = "") -> None:
        self._labels[label] += 1
        counts = [f"{name} {count}" for name, count in self._labels.items() if name]
        # Many labels, such as names of instances, are not counted.
        text = " ".join(counts) if len(counts) <= MAX_LABELS else ""
        self._bars.update(self._task, advance=1, counts=text)
        done = self._labels.total()
        waited = time.monotonic() - self._printed
        if self._bars.disable and waited >= LOG_EVERY_S and done < self._total:
            self._printed = time.monotonic()
            details = f" ({text})" if text else ""
            print_err(f"{self._description}: {done} of {self._total}{details}")
