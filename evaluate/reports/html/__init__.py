"""The report as one self-contained HTML page: tables, charts, and every answer beside the reference.

No request leaves the page, and it works without its script; everything that comes from a model is escaped.
"""

import base64
import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ....extras import need
from ....paths import benchmark_folder
from ....text import visible
from ...judge.category import BEST_FIRST
from ...levels import OUTCOMES, Level
from ..answers import collect
from ..changes import Part
from ..content import Content
from ..sections import notes, tables
from ..spending import in_words
from ..tables import WORDS, column, mark

if TYPE_CHECKING:
    from markupsafe import Markup


_HERE = Path(__file__).parent
#: Where the project keeps its tasks.
TASKS_URL = "https://github.com/lmr-bench/lmr-bench/tree/main/benchmark"


def render_html(report: Content) -> str:
    """The page.

    Raises:
        InputError: a run folder is damaged, or the extra `report` is not installed.
    """
    need("report", "the HTML report")
    import jinja2

    from .markup import prose

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters.update(visible=visible, prose=prose, coloured=_coloured, link=_link, in_words=in_words)
    script = (_HERE / "script.js").read_text(encoding="utf-8")
    named = dict(tables(report))
    for title in ("By instance", "By category"):
        named.pop(title, None)  # the page has a grid and a chart of its own
    instances, warnings = collect(report)
    return environment.get_template("page.html.j2").render(
        report=report,
        scores=report.scores,
        names=[column(score, report.scores) for score in report.scores],
        categories=sorted({name for score in report.scores for name in score.categories}),
        levels=list(Level),
        judged=BEST_FIRST,
        tables=named,
        notes=notes(report),
        warnings=warnings,
        instances=instances,
        tasks=_task_folders(),
        tasks_url=TASKS_URL,
        outcomes=OUTCOMES,
        words=WORDS,
        mark=mark,
        style=(_HERE / "style.css").read_text(encoding="utf-8"),
        script=script,
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )


def _coloured(part: Part) -> "Sequence[tuple[str, Markup | str]]":
    """(kind, line) of a difference, its code in colours."""
    from .markup import python_lines

    before, after = python_lines(part.before), python_lines(part.after)
    return [
        (line.kind, line.text if line.number < 0 else (before if line.kind == "del" else after)[line.number])
        for line in part.lines
    ]


def _link(address: str) -> str:
    """An address that a reader may follow; empty for any other."""
    return address if re.fullmatch(r"https?://[\w./~:?&=%#+-]+", address) else ""


def _task_folders() -> dict[str, str]:
    """Folder of each instance among the tasks of this installation."""
    found = {}
    for path in benchmark_folder().glob("*/task.yaml"):
        for name in re.findall(r"^\s*-?\s*instance_id:\s*([\w.-]+)\s*$", path.read_text(encoding="utf-8"), re.M):
            found[name] = path.parent.name
    return found
