"""Render a report as one self-contained HTML page: tables, charts, and every answer beside the reference.

The page makes no request, all text of models is escaped, and everything can be read without its script.
"""

import base64
import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import jinja2
from markupsafe import Markup, escape

from lmrbench_data.base.configurations import configuration_of
from lmrbench_data.base.paths import benchmark_folder
from lmrbench_data.base.proportions import percent
from lmrbench_data.base.text import plural, split_text, visible
from lmrbench_data.dataset.rows import DatasetRow, goals_of
from lmrbench_data.loader import LoadError
from lmrbench_data.tasks.task_folders import stated_ids, task_folders

from ...judge.opinion import BEST_FIRST
from ...verdict.expected import row_cases
from ...verdict.levels import OUTCOMES
from ..answer_diff import DiffSection
from ..answers import collect
from ..data import ReportData
from ..score_tables import column, levels, mark, words
from ..scores import ModelScore, with_difficulties
from ..sections import notes, tables
from ..spending import in_words
from .markup import prose, python_lines

_HERE = Path(__file__).parent
#: Address of the project's tasks.
TASKS_URL = "https://github.com/lmr-bench/lmr-bench/tree/main/benchmark"


def render_html(report: ReportData) -> str:
    """Return the page."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters.update(
        visible=visible, prose=prose, coloured=_coloured, link=_link, in_words=in_words
    )
    environment.filters.update(
        goals=_goals, unbroken=_unbroken, breakable=_breakable, test_code=_test_code
    )
    script = (_HERE / "script.js").read_text(encoding="utf-8")
    named = dict(tables(report))
    for title in ("By instance", "By category"):
        named.pop(title, None)  # the page has a grid and a chart of its own
    names = [column(score, report.scores) for score in report.scores]
    split = with_difficulties(report.scores)
    instances, warnings = collect(report)
    return environment.get_template("page.html.j2").render(
        report=report,
        scores=report.scores,
        charted=[(column(score, split), score) for score in split],
        verdicts=headlines(report),
        names=names,
        several=max(samples)
        if (samples := {score.samples for score in report.scores}) - {1}
        else 0,
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
        shown_outcomes=[
            name
            for name in OUTCOMES
            if any(score.overall.outcomes[name] for score in report.scores)
        ],
        words=words(report.scores),
        mark=mark,
        style=(_HERE / "style.css").read_text(encoding="utf-8"),
        script=script,
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )


def _test_code(row: DatasetRow) -> Markup | str:
    """Return the highlighted source of the cases of an instance; empty if the row has none."""
    try:
        return Markup("\n").join(python_lines(split_text(row_cases(row).decode("utf-8"))))
    except (KeyError, LoadError, UnicodeDecodeError):
        return ""


def _unbroken(text: str) -> str:
    """Keep interval and p of a verdict on one line each."""
    return re.sub(
        r"\(95% CI [^()]*\)|p [=<] \S+", lambda match: match[0].replace(" ", "\u00a0"), text
    )


def _breakable(name: str) -> Markup:
    """Allow line breaks in a name after slashes and underscores."""
    return Markup(re.sub(r"([/_])(?=\w)", r"\1<wbr>", str(escape(name))))


def _coloured(section: DiffSection) -> Sequence[tuple[str, Markup | str]]:
    """Return (kind, line) for each line of a difference, with highlighted code."""
    before, after = python_lines(section.before), python_lines(section.after)
    return [
        (
            line.kind,
            line.text
            if line.number < 0
            else (before if line.kind == "del" else after)[line.number],
        )
        for line in section.lines
    ]


def _goals(row: DatasetRow) -> str:
    """Return what an instance asks for: file and function, or their numbers."""
    goals = goals_of(row)
    names = [name for functions in goals.values() for name in functions]
    if configuration_of(row).is_method:
        difficulty = f", {row['difficulty']}" if "difficulty" in row else ""
        return f"{plural(len(names), 'function')} in {plural(len(goals), 'file')}{difficulty}"
    return f"{min(goals)} · {names[0]}"


def _link(address: str) -> str:
    """Return an address if it is a plain http(s) link, else an empty text."""
    return address if re.fullmatch(r"https?://[\w./~:?&=%#+-]+", address) else ""


def _task_folders() -> dict[str, str]:
    """Return instance → folder, for the tasks of this installation."""
    return {
        name: folder.name
        for folder in task_folders(benchmark_folder())
        for name in stated_ids(folder)
    }


# --- paired comparisons -----------------------------------------------------------------------------------------------


class Headline(NamedTuple):
    """The best model of a track against the next one."""

    text: str
    about: str
    """The compared scores and the method."""


def headlines(report: ReportData) -> list[Headline]:
    """Return a headline for each track, in the order of the scores."""
    tracks = dict.fromkeys(score.track for score in report.scores)
    return [
        _headline(report, [score for score in report.scores if score.track == track])
        for track in tracks
    ]


def _headline(report: ReportData, scores: Sequence[ModelScore]) -> Headline:
    best, shown = scores[0], levels(report.scores)
    level = best.headline if best.headline in shown else shown[0]
    names = [column(score, report.scores) for score in scores[:2]]
    samples = f", {best.samples} samples each" if best.samples > 1 else ""
    about = f"{best.track} track, {plural(len(best.scope), 'instance')}{samples}"
    if not best.overall.graded:
        return Headline(f"{names[0]}: nothing graded", about)
    comparisons = [pair for pair in report.pairs if pair.level is level]
    pair = next((pair for pair in comparisons if [pair.first, pair.second] == names), None)
    if pair is None:  # one model, or too many to compare all pairs
        share = best.overall.share(level)
        low, high = (f"{100 * bound:.0f}" for bound in share.interval)
        return Headline(
            f"{names[0]}: {percent(share.value)} {level} (95% CI {low} to {high})", about
        )
    pair = pair.reverse if pair.difference < 0 else pair
    low, high = (f"{round(100 * bound)}".replace("-", "\N{MINUS SIGN}") for bound in pair.interval)
    p = "< 0.001" if pair.p_holm < 0.001 else f"= {pair.p_holm:.2g}"
    text = (
        f"{pair.first} {100 * pair.difference + 0.0:+.1f} points over {pair.second} (95% CI {low} to {high}), "
        f"p {p}: {'' if pair.distinguishable else 'not '}distinguishable"
    )
    adjusted = (
        f", adjusted for {len(comparisons)} comparisons (Holm)" if len(comparisons) > 1 else ""
    )
    return Headline(text, f"Points of {level}, {about}; exact paired permutation test{adjusted}.")
