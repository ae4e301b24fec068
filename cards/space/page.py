"""The board as HTML. Jinja escapes whatever comes from the results dataset; nothing is marked as safe."""

from pathlib import Path

from board import MAX_COLUMNS, RANKED_BY, Board
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from names import is_invisible
from results import Snapshot
from submissions import JUDGED

MAX_CHARACTERS = 80


def shown(text: str, limit: int = MAX_CHARACTERS) -> str:
    """On one line, cut, and without what no reader can see (also what would turn the direction of writing)."""
    line = " ".join(text[: 4 * limit].split())
    line = "".join("\N{REPLACEMENT CHARACTER}" if is_invisible(char) else char for char in line)
    return line if len(line) <= limit else line[: limit - 1] + "…"


def percent(value: float) -> str:
    """A share for people."""
    return f"{100 * value:.1f}"


_PAGES = Environment(
    loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined, trim_blocks=True
)
_PAGES.filters |= {"shown": shown, "percent": percent}


def render(snapshot: Snapshot, board: Board) -> str:
    """The HTML of a board, for the inside of a page."""
    template = _PAGES.get_template("board.html.j2")
    return template.render(snapshot=snapshot, board=board, labels=JUDGED, ranked_by=RANKED_BY, max_columns=MAX_COLUMNS)
