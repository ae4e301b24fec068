"""The report as one self-contained HTML page: tables, plots, and every answer beside the reference.

No request leaves the page, and it works without its script; everything that comes from a model is escaped.
"""

import base64
import hashlib
import re
from pathlib import Path
from typing import TYPE_CHECKING

from ....extras import need
from ....text import visible
from ..levels import OUTCOMES
from ..sections import notes, tables
from ..tables import WORDS, column, mark
from .answers import collect
from .plots import draw_plots

if TYPE_CHECKING:
    from ..report import Report

_HERE = Path(__file__).parent


def render_html(report: "Report") -> str:
    """The page.

    Raises:
        InputError: a run folder is damaged, or the extra `report` is not installed.
    """
    need("report", "the HTML report")
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["visible"] = visible
    environment.filters["reflow"] = reflow
    script = (_HERE / "script.js").read_text(encoding="utf-8")
    named = dict(tables(report))
    named.pop("By instance", None)  # the page has a grid of its own
    instances, warnings = collect(report)
    names = [column(score, report.scores) for score in report.scores]
    return environment.get_template("page.html.j2").render(
        report=report,
        names=names,
        tables=named,
        notes=notes(report),
        warnings=warnings,
        instances=instances,
        outcomes=OUTCOMES,
        words=WORDS,
        mark=mark,
        plots=draw_plots(report.scores, names),
        style=(_HERE / "style.css").read_text(encoding="utf-8"),
        script=script,
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )


def reflow(text: str) -> str:
    """Prose that was wrapped for an editor, with its paragraphs and list items on lines of their own."""
    joined = ""
    for line in text.splitlines():
        starts = not line.strip() or line.startswith("    ") or re.match(r"\s*(?:[-*]|\d+[.)])\s", line)
        joined += ("\n" if starts or joined.endswith("\n") or not joined else " ") + (line if starts else line.strip())
        joined += "\n" if not line.strip() else ""
    return joined.strip("\n")
