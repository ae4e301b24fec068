"""Output of commands: text, tables and JSON on stdout, messages on stderr."""

import contextlib
import io
import json
import logging
import os
import shutil
import signal
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..base.text import one_line, visible

if TYPE_CHECKING:
    from rich.console import Console

#: Width of a table in a file or a pipe.
PIPE_WIDTH = 240
#: Least width of a cut column; a narrower one is left out.
LEAST = 20

Json = Annotated[bool, typer.Option("--json", help="Print JSON on stdout instead of text.")]


def prepare_streams() -> None:
    """Prepare stdout and stderr for any text: closed streams swallow it, narrow encodings escape it."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def say(line: str) -> None:
    """Print a line on stderr."""
    with contextlib.suppress(OSError):
        print(visible(line), file=sys.stderr, flush=True)


class _Said(logging.Handler):
    """Shows log records to the user."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            text = record.getMessage()
        except Exception:
            self.handleError(record)
            return
        say(f"warning: {text}" if record.levelno >= logging.WARNING else text)


def say_what_is_logged() -> None:
    """Print the logs of both packages on stderr, from INFO on."""
    for package in ("lmrbench_data", "lmrbench_evaluate"):
        logger = logging.getLogger(package)
        logger.setLevel(logging.INFO)
        logger.propagate = False
        logger.handlers = [_Said()]


def put(text: str) -> None:
    """Print text on stdout."""
    write(visible(text) + "\n")


def put_styled(*parts: str | tuple[str, str], hang: int = 2) -> None:
    """Print a line of parts, each a text or a text with its style; in a terminal, coloured and wrapped to its width.

    Args:
        hang: columns by which the lines after the first are indented further than the first.
    """
    from rich.containers import Lines
    from rich.text import Text

    line = Text.assemble(*(visible(part) if isinstance(part, str) else (visible(part[0]), part[1]) for part in parts))
    line.expand_tabs(4)
    if not sys.stdout.isatty():
        write(f"{line.plain}\n")
        return
    terminal = console()
    lead = len(line.plain) - len(line.plain.lstrip())
    # Half of the width holds text, however deep a line is indented.
    indent = min(lead + hang, terminal.width // 2)
    if line.cell_len <= terminal.width or lead > indent:
        lines = line.wrap(terminal, terminal.width)
    else:
        first, *rest = line[lead:].wrap(terminal, terminal.width - indent)
        lines = Lines([Text.assemble(line[:lead], first), *(Text.assemble(" " * indent, text) for text in rest)])
    with terminal.capture() as capture:
        for text in lines:
            terminal.print(text, soft_wrap=True)
    write(capture.get())


def console() -> "Console":
    """Return a console of the width of stdout; without colours and styles in a pipe and where NO_COLOR is set."""
    from rich.console import Console

    # rich itself keeps bold and italics where NO_COLOR is set.
    plain = bool(os.environ.get("NO_COLOR")) or not sys.stdout.isatty()
    return Console(width=output_width(), color_system=None if plain else "auto", highlight=False)


def print_json(value: Any) -> None:
    """Print JSON on stdout."""
    write(json.dumps(value, indent=2, default=str) + "\n")


def output_width() -> int:
    """Return the width of stdout in columns."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else PIPE_WIDTH


def table_width(header: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    """Return the width of a table without wrapping."""
    return 1 + sum(_widest(header, rows, number) + 3 for number in range(len(header)))


def _widest(header: Sequence[str], rows: Sequence[Sequence[str]], number: int) -> int:
    return max(len(row[number]) for row in (header, *rows))


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]], *, title: str = "") -> None:
    """Print a table on stdout; contents are never read as markup.

    Columns that do not fit follow below in another table, which repeats the first column.
    """
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    terminal = console()
    width = terminal.width
    with terminal.capture() as capture:
        for numbers in _blocks(header, rows, width):
            table = Table(title=title or None, title_justify="left", box=SIMPLE_HEAD)
            for number in numbers:
                numeric = number > 0 and all(row[number][:1].isdigit() or row[number][:1] in ("-", "+") for row in rows)
                least = _least(header, rows, number)
                # Only a cell that is wider than the terminal is folded.
                table.add_column(
                    Text(visible(header[number])),
                    justify="right" if numeric else "left",
                    overflow="fold",
                    min_width=least if least < width // 2 or (number == 0 and least <= width * 2 // 3) else None,
                )
            for row in rows:
                table.add_row(*(Text(visible(row[number])) for number in numbers))
            terminal.print(table)
            title = ""
    write(capture.get())


def _least(header: Sequence[str], rows: Sequence[Sequence[str]], number: int) -> int:
    """Return the least width of a column: headings may wrap between words, cells may not."""
    words = header[number].split() or [""]
    return max(max(map(len, words)), max((len(row[number]) for row in rows), default=0))


def _blocks(header: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[list[int]]:
    """Split the columns into blocks that fit the width; each block repeats the first column."""
    blocks, taken = [[0]], 0
    first = _least(header, rows, 0) + 4
    for number in range(1, len(header)):
        needed = _least(header, rows, number) + 3
        if len(blocks[-1]) > 1 and first + taken + needed > width:
            blocks.append([0])
            taken = 0
        blocks[-1].append(number)
        taken += needed
    return blocks


def print_lines(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table on stdout, one line per row. All columns but the first may be cut, or left out from the right."""
    from rich.cells import set_cell_size

    room = output_width() - 1
    widths = [_widest(header, rows, number) for number in range(len(header))]
    least = [widths[0], *(min(width, LEAST) for width in widths[1:])]
    while len(widths) > 1 and sum(least) + 2 * (len(least) - 1) > room:
        widths.pop()
        least.pop()
    while sum(widths) + 2 * (len(widths) - 1) > room and widths != least:
        widths[max(range(len(widths)), key=lambda number: widths[number] - least[number])] -= 1
    lines = []
    for row in (header, *rows):
        cells = []
        for cell, width in zip(map(one_line, row), widths, strict=False):
            cut = cell if len(cell) <= width else f"{cell[: width - 1]}\N{HORIZONTAL ELLIPSIS}"
            cells.append(set_cell_size(cut, width))
        lines.append("  ".join(cells).rstrip())
    put("\n".join(lines))


#: Status of a finding → its style in a terminal.
_STYLES = {"ok": "green", "note": "yellow", "problem": "bold red"}


def print_finding(status: str, name: str, text: str, fix: str) -> None:
    """Print the result of a check on stdout: status, name and text side by side, the fix below, wrapped."""
    from rich.table import Table
    from rich.text import Text

    terminal = console()
    table = Table.grid(padding=(0, 2, 0, 0))
    for width in (7, 10):
        table.add_column(width=width)
    table.add_column(overflow="fold")
    table.add_row(Text(status, _STYLES.get(status, "")), Text(visible(name)), Text(visible(text)))
    if fix:
        table.add_row("", "", Text(f"\N{RIGHTWARDS ARROW} {visible(fix)}", "" if status != "ok" else "dim"))
    with terminal.capture() as capture:
        terminal.print(table)
    write("".join(f"{line.rstrip()}\n" for line in capture.get().splitlines()))


def write(text: str) -> None:
    """Write text on stdout unchanged."""
    with _to_stdout():
        sys.stdout.write(text)
        sys.stdout.flush()


def flush() -> None:
    """Flush stdout.

    Raises:
        OSError: it cannot be written.
    """
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


@contextlib.contextmanager
def interruptible(kept: str) -> Iterator[None]:
    """Stop asynchronous work cleanly on SIGINT and SIGTERM.

    Args:
        kept: a clause that says where finished results are.
    """
    # The event loop handles SIGINT: it drops requests and keeps results.
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        yield
    except KeyboardInterrupt:
        say(f"stopped; {kept}; re-run the command to resume")
        sys.exit(130)
