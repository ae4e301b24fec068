"""Render the board as HTML. Jinja escapes all text from the results dataset."""

from pathlib import Path
from urllib.parse import quote

from base.names import is_invisible
from base.record import JUDGED
from board import Board, Ranked
from charts import make_scatter
from grid import MAX_COLUMNS, make_grid
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from results_dataset import Snapshot, task_link

#: Longest text that is shown, unless its place has another limit.
MAX_CHARACTERS = 80


def shown(text: str, limit: int = MAX_CHARACTERS) -> str:
    """Return text as one short line without invisible characters or marks of direction."""
    line = " ".join(text[: 4 * limit].split())
    line = "".join("\N{REPLACEMENT CHARACTER}" if is_invisible(char) else char for char in line)
    return line if len(line) <= limit else line[: limit - 1] + "…"


def dollars(value: float) -> str:
    """Print an amount of money."""
    return f"${value:,.2f}" if value >= 0.01 or value == 0 else f"${value:.1g}"


def short(model: str) -> str:
    """Return the name of a model without its organisation, for narrow columns."""
    return shown(model.rpartition("/")[2] or model, 28)


def searchable(item: Ranked) -> str:
    """Return the text that the search looks in: models, settings, submitters and runs."""
    words: list[str] = []
    for line in (item.latest, *item.earlier, *item.copies):
        entry, record = line.entry, line.record
        words += [entry.model, entry.setting, record.submitted_by, record.run_id]
    return shown(" ".join(words), 2000).lower()


def component(text: str) -> str:
    """Return text as a value in the page's address; the reader in `board.js` undoes it."""
    return quote(text.encode("utf-8", "replace"), safe="")


_PAGES = Environment(
    loader=FileSystemLoader(Path(__file__).parent),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
)
_PAGES.filters |= {
    "component": component,
    "dollars": dollars,
    "percent": lambda share: f"{100 * share:.1f}",
    "place": "{:.2f}".format,
    "scatter": make_scatter,
    "searchable": searchable,
    "short": short,
    "shown": shown,
}
_PAGES.globals |= {"make_grid": make_grid, "task_link": task_link}


def render(snapshot: Snapshot, board: Board) -> str:
    """Return the HTML of a board, without the page around it."""
    template = _PAGES.get_template("board.html.j2")
    return template.render(snapshot=snapshot, board=board, labels=JUDGED, max_columns=MAX_COLUMNS)
