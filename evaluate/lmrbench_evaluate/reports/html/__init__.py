"""Render a report as one self-contained HTML page, with every answer beside the reference.

The page makes no request, all text of models is escaped, and everything can be read without its
script.
"""

import base64
import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import jinja2
from markupsafe import Markup, escape

from lmrbench_data.base.templates import environment
from lmrbench_data.base.text import plural, split_text, visible
from lmrbench_data.dataset.rows import DatasetRow
from lmrbench_data.loader import LoadError

from ...judge.opinion import BEST_FIRST
from ...verdict.expected import row_cases
from ...verdict.levels import OUTCOMES, Level
from ..answer_diff import DiffSection
from ..answers import collect
from ..data import ReportData
from ..paired import Pair
from ..score_tables import column, levels, mark, words
from ..scores import ModelScore, Scores, with_difficulties
from ..sections import notes, tables
from ..spending import in_words
from ..text_table import Table
from .markup import prose, python_lines

_HERE = Path(__file__).parent


def render_html(report: ReportData) -> str:
    """Return the page."""
    scores = report.scores
    split = with_difficulties(scores)
    instances, warnings = collect(report)
    script = _read("script.js")
    present = set[str]().union(*(score.overall.outcomes for score in scores))
    return (
        _environment()
        .get_template("page.html.j2")
        .render(
            report=report,
            scores=scores,
            charted=[(column(score, split), score) for score in split],
            verdicts=headlines(report),
            names=[column(score, scores) for score in scores],
            samples=max((score.samples for score in scores), default=0),
            categories=sorted(set().union(*(score.categories for score in scores))),
            levels=levels(scores),
            judged=BEST_FIRST,
            tables=_shown_tables(report),
            notes=notes(report),
            warnings=warnings,
            instances=instances,
            outcomes=OUTCOMES,
            shown_outcomes=[name for name in OUTCOMES if name in present],
            words=words(scores),
            mark=mark,
            style=_read("style.css"),
            script=script,
            script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        )
    )


def _environment() -> jinja2.Environment:
    return environment(
        _HERE,
        autoescape=True,
        visible=visible,
        prose=prose,
        coloured=_coloured,
        link=_link,
        in_words=in_words,
        unbroken=_unbroken,
        breakable=_breakable,
        test_code=_test_code,
    )


def _read(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


def _shown_tables(report: ReportData) -> dict[str, Table]:
    """Return the tables, without two in place of which the page has a grid and a chart."""
    named = dict(tables(report))
    named.pop("By instance", None)
    named.pop("By category", None)
    return named


def _test_code(row: DatasetRow) -> Markup | str:
    """Return the highlighted source of the cases of an instance; empty if the row has none."""
    try:
        return Markup("\n").join(python_lines(split_text(row_cases(row).decode("utf-8"))))
    except (KeyError, LoadError, UnicodeDecodeError):
        return ""


def _unbroken(text: str) -> str:
    """Keep interval and p of a verdict on one line each."""
    parts = r"\(95% CI [^()]*\)|p [=<] \S+"
    return re.sub(parts, lambda match: match[0].replace(" ", "\u00a0"), text)


def _breakable(name: str) -> Markup:
    """Allow line breaks in a name after slashes and underscores."""
    return Markup(re.sub(r"([/_])(?=\w)", r"\1<wbr>", str(escape(name))))


def _coloured(section: DiffSection) -> Iterator[tuple[str, Markup | str]]:
    """Yield (kind, line) for each line of a difference, with highlighted code."""
    before, after = python_lines(section.before), python_lines(section.after)
    for line in section.lines:
        if line.number < 0:
            yield line.kind, line.text
        else:
            yield line.kind, (before if line.kind == "del" else after)[line.number]


def _link(address: str) -> str:
    """Return an address if it is a plain http(s) link, else an empty text."""
    return address if re.fullmatch(r"https?://[\w./~:?&=%#+-]+", address) else ""


class Headline(NamedTuple):
    """The best model of a track against the next one."""

    text: str
    about: str
    """The compared scores and the method."""


def headlines(report: ReportData) -> list[Headline]:
    """Return a headline for each track, in the order of the scores."""
    tracks: dict[str, list[ModelScore]] = {}
    for score in report.scores:
        tracks.setdefault(score.track, []).append(score)
    return [_headline(report, scores) for scores in tracks.values()]


def _headline(report: ReportData, scores: Scores) -> Headline:
    """Return the headline of a track's scores, best first."""
    best = scores[0]
    level = best.headline if best.headline in levels(report.scores) else Level.REPRODUCED
    names = [column(score, report.scores) for score in scores[:2]]
    about = _about(best)
    if not best.overall.graded:
        return Headline(f"{names[0]}: nothing graded", about)
    pairs = {(pair.first, pair.second): pair for pair in report.pairs if pair.level is level}
    pair = pairs.get((names[0], names[-1]))
    if pair is None:  # one model, or too many to compare all pairs
        return Headline(_score_text(names[0], level, best), about)
    return Headline(_pair_text(pair), f"Points of {level}, {about}; {_method(len(pairs))}.")


def _about(score: ModelScore) -> str:
    about = f"{score.track} track, {plural(len(score.scope), 'instance')}"
    return f"{about}, {score.samples} samples each" if score.samples > 1 else about


def _method(comparisons: int) -> str:
    test = "exact paired permutation test"
    return f"{test}, adjusted for {comparisons} comparisons (Holm)" if comparisons > 1 else test


def _score_text(name: str, level: Level, score: ModelScore) -> str:
    """Say how often a model reached a level."""
    share = score.overall.share(level)
    low, high = share.interval
    return f"{name}: {share.percent} {level} (95% CI {100 * low:.0f} to {100 * high:.0f})"


def _pair_text(pair: Pair) -> str:
    """Say by how much the better model of a pair leads."""
    names = [pair.first, pair.second]
    bounds = list(pair.interval)
    if pair.difference < 0:
        names.reverse()
        bounds = [-bound for bound in reversed(bounds)]
    low, high = (f"{round(100 * bound)}".replace("-", "\N{MINUS SIGN}") for bound in bounds)
    p = "p < 0.001" if pair.p_holm < 0.001 else f"p = {pair.p_holm:.2g}"
    verdict = "distinguishable" if pair.distinguishable else "not distinguishable"
    lead = f"{names[0]} {100 * abs(pair.difference):+.1f} points over {names[1]}"
    return f"{lead} (95% CI {low} to {high}), {p}: {verdict}"
