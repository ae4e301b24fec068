"""Output of commands: the result as text or JSON on stdout, messages and progress on stderr."""

import contextlib
import io
import json
import logging
import os
import signal
import string
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lmrbench_data.base.jobs import Progress
from lmrbench_data.base.text import split_text, visible
from lmrbench_data.base.text_table import Table

from .flags import with_flags

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as RichProgress

#: Width of a table in a file or a pipe, where nothing is wrapped.
PIPE_WIDTH = 1000
#: In a table that lacks room, names, prose and headings are folded to no less than the first; numbers stay whole, and
#: are shorter than names that begin with a digit.
FOLD_WIDTH, NUMBER_WIDTH = 16, 24
#: Seconds between two lines about a long job without a terminal.
LOG_EVERY_S = 30.0

Json = Annotated[bool, typer.Option("--json", help="Print JSON on stdout instead of text.")]


def emit(result: Any, as_json: bool, *parts: "str | tuple[str, Table]") -> None:
    """Print the result of a command, JSON or an analysis: as JSON, or as text (lines, and tables with titles)."""
    if hasattr(result, "numbers"):
        result, parts = result.numbers, (*result.tables, *result.notes, *parts)
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


class _Column:
    """A column of a table in a terminal: numbers stay whole; names, prose and headings fold."""

    def __init__(self, cells: Sequence[str], *, is_first: bool) -> None:
        from rich.cells import cell_len
        from rich.text import Text

        shown = [visible(cell) for cell in cells]
        heading, *lengths = map(cell_len, shown)
        widest = max(lengths, default=1)
        starts = {cell[:1] for cell in shown[1:]}
        self.texts = [Text(cell) for cell in shown]
        self.width = max(heading, widest)
        self.is_number = (
            not is_first and widest <= NUMBER_WIDTH and starts <= {*string.digits, "-", "+"}
        )
        #: The narrowest that it may become.
        self.least = min(self.width, FOLD_WIDTH)
        if self.is_number:
            word = max(map(cell_len, shown[0].split()), default=1)
            self.least = max(widest, min(word, FOLD_WIDTH))


def _fit(columns: Sequence[_Column], room: int) -> tuple[int, int]:
    """Return how many columns name a row, and how many columns fit into this width, at least one more than these."""
    names = next((place for place, column in enumerate(columns) if column.is_number), 1)
    if _table_width(column.least for column in columns[: names + 1]) > room:
        names = 1
    fitting = names + 1
    while (
        fitting < len(columns)
        and _table_width(column.least for column in columns[: fitting + 1]) <= room
    ):
        fitting += 1
    return names, fitting


def _table_width(widths: Iterable[int]) -> int:
    return 1 + sum(width + 3 for width in widths)


def _print_table(title: str, table: "Table") -> None:
    """Print a table; contents are never read as markup. Columns without room follow in a second one, names repeated."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table as RichTable

    columns = [
        _Column(cells, is_first=not place)
        for place, cells in enumerate(zip(table[0], *table[1], strict=True))
    ]
    room = _console().width
    names, fitting = _fit(columns, room)
    block = columns[:fitting]
    is_narrow = _table_width(column.width for column in block) > room
    first, *others = block
    is_first_whole = _table_width([first.width, *(column.least for column in others)]) <= room
    shown = RichTable(title=title or None, title_justify="left", box=SIMPLE_HEAD)
    for column in block:
        shown.add_column(
            column.texts[0],
            justify="right" if column.is_number else "left",
            overflow="fold",
            width=column.least if is_narrow and column.is_number else None,
            no_wrap=column is first and is_first_whole,
        )
    for number in range(1, len(table[1]) + 1):
        shown.add_row(*(column.texts[number] for column in block))
    print_rich(shown, least_width=_table_width(column.least for column in block))
    if fitting < len(columns):
        _print_table(
            "",
            (
                [*table[0][:names], *table[0][fitting:]],
                [[*row[:names], *row[fitting:]] for row in table[1]],
            ),
        )


def print_rich(item: Any, least_width: int = 0) -> None:
    """Print a renderable of rich, without colours where the output is piped; a narrower terminal wraps its lines."""
    terminal = _console()
    terminal.width = max(terminal.width, least_width)
    with terminal.capture() as capture:
        terminal.print(item)
    _write("".join(f"{line.rstrip()}\n" for line in split_text(capture.get())))


def _console() -> "Console":
    from rich.console import Console

    is_live, has_colours = sys.stdout.isatty(), not os.environ.get("NO_COLOR")
    # rich itself keeps bold and italics where NO_COLOR is set.
    return Console(
        width=None if is_live else PIPE_WIDTH,
        color_system="auto" if is_live and has_colours else None,
        highlight=False,
    )


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
    """Prepare stdout and stderr for any text: closed streams swallow it, narrow encodings escape it."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


class _LogToStderr(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        print_err(
            ("warning: " if record.levelno >= logging.WARNING else "")
            + with_flags(record.getMessage())
        )


def log_to_stderr() -> None:
    """Print the logs of all packages on stderr, from INFO on."""
    for package in ("lmrbench", "lmrbench_data", "lmrbench_evaluate"):
        logger = logging.getLogger(package)
        logger.setLevel(logging.INFO)
        logger.propagate = False
        logger.handlers = [_LogToStderr()]


def only_runs(paths: list[Path]) -> list[Path]:
    """Leave out files and folders that are no run, with a line on each; all stay if none is: the error says why."""
    from lmrbench_evaluate.runs.folder import RunFolder

    runs = [path for path in paths if RunFolder(path).exists or not path.exists()]
    for path in paths if runs else ():
        if path not in runs:
            print_err(f"skipped: {path} is not a run folder")
    return runs or paths


@contextlib.contextmanager
def progress_bar(
    description: str, *, shown: bool = True, kept: str | Callable[[], str] = ""
) -> Iterator[Progress]:
    """Show progress on stderr: a bar in a terminal, a line from time to time elsewhere.

    Args:
        kept: a clause that says where finished results are, or a function that returns it; with it, SIGINT and SIGTERM
            stop the work cleanly.
    """
    from rich import progress
    from rich.console import Console

    if kept:
        signal.signal(signal.SIGTERM, _interrupt)
    terminal = Console(stderr=True, no_color=bool(os.environ.get("NO_COLOR")))
    is_live = shown and sys.stderr.isatty()
    columns = (
        *progress.Progress.get_default_columns(),
        progress.MofNCompleteColumn(),
        progress.TextColumn("{task.fields[counts]}", markup=False),
    )
    try:
        with progress.Progress(*columns, console=terminal, disable=not is_live) as bars:
            yield _Steps(description, bars)
    except KeyboardInterrupt:
        if not kept:
            raise
        print_err(f"stopped; {kept() if callable(kept) else kept}; re-run the command to resume")
        sys.exit(130)


def _interrupt(*_: object) -> None:
    """Stop as Ctrl-C does: the event loop handles SIGINT, which drops requests and keeps results."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a background job of a script
        signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.raise_signal(signal.SIGINT)


class _Steps(Progress):
    """Counts steps by their label, for a bar or for a line every `LOG_EVERY_S` seconds."""

    def __init__(self, description: str, bars: "RichProgress") -> None:
        self._description, self._bars = description, bars
        self._task = bars.add_task(description, total=None, counts="")
        self._labels: Counter[str] = Counter()
        self._total, self._printed = 0, time.monotonic()

    def start(self, total: int) -> None:
        self._total = total
        self._bars.update(self._task, total=total)

    def step(self, label: str = "") -> None:
        self._labels[label] += 1
        counts = {label: count for label, count in self._labels.items() if label}
        # Many labels, such as names of instances, are not counted.
        text = (
            " ".join(f"{label} {count}" for label, count in counts.items())
            if len(counts) <= 8
            else ""
        )
        self._bars.update(self._task, advance=1, counts=text)
        now, done = time.monotonic(), self._labels.total()
        if self._bars.disable and now - self._printed >= LOG_EVERY_S and done < self._total:
            self._printed = now
            print_err(f"{self._description}: {done} of {self._total}{text and f' ({text})'}")
