"""Render a report as one self-contained HTML page: tables, charts, and every answer beside the reference.

The page makes no request and works without its script; all text of models is escaped.
"""

import base64
import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lmrbench_data.base.extras import need
from lmrbench_data.base.paths import benchmark_folder
from lmrbench_data.base.text import counted, visible
from lmrbench_data.dataset.rows import DatasetRow, goals_of, is_method

from ...judge.category import BEST_FIRST
from ...verdict.levels import OUTCOMES
from ..answer_diff import DiffSection
from ..answer_pages import collect
from ..report_data import ReportData
from ..score_tables import column, levels, mark, words
from ..sections import notes, tables
from ..spending import in_words

if TYPE_CHECKING:
    from markupsafe import Markup


_HERE = Path(__file__).parent
#: Address of the project's tasks.
TASKS_URL = "https://github.com/lmr-bench/lmr-bench/tree/main/benchmark"


def render_html(report: ReportData) -> str:
    """Return the page.

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
    environment.filters.update(goals=_goals)
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
        levels=levels(report.scores),
        judged=BEST_FIRST,
        tables=named,
        notes=notes(report),
        warnings=warnings,
        instances=instances,
        tasks=_task_folders(),
        tasks_url=TASKS_URL,
        outcomes=OUTCOMES,
        words=words(report.scores),
        mark=mark,
        style=(_HERE / "style.css").read_text(encoding="utf-8"),
        script=script,
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )


def _coloured(section: DiffSection) -> "Sequence[tuple[str, Markup | str]]":
    """Return (kind, line) for each line of a difference, with highlighted code."""
    from .markup import python_lines

    before, after = python_lines(section.before), python_lines(section.after)
    return [
        (line.kind, line.text if line.number < 0 else (before if line.kind == "del" else after)[line.number])
        for line in section.lines
    ]


def _goals(row: DatasetRow) -> str:
    """Return what an instance asks for: file and function, or their numbers."""
    goals = goals_of(row)
    names = [name for of in goals.values() for name in of]
    if is_method(row):
        return f"{counted(len(names), 'function')} in {counted(len(goals), 'file')}"
    return f"{min(goals)} · {names[0]}"


def _link(address: str) -> str:
    """Return an address if it is a plain http(s) link, else an empty text."""
    return address if re.fullmatch(r"https?://[\w./~:?&=%#+-]+", address) else ""


def _task_folders() -> dict[str, str]:
    """Return instance → folder, for the tasks of this installation."""
    found = {}
    for path in [*benchmark_folder().glob("*/task.yaml"), *benchmark_folder().glob("*/method.yaml")]:
        for name in re.findall(r"^\s*-?\s*instance_id:\s*([\w.-]+)\s*$", path.read_text(encoding="utf-8"), re.M):
            found[name] = path.parent.name
    return found
