"""The first line of a report: the best model of each track against the next, with interval, p and a verdict."""

from collections.abc import Sequence
from typing import NamedTuple

from lmrbench_data.base.shares import Interval, percent
from lmrbench_data.base.text import counted

from ..verdict.levels import Level
from .paired import MCNEMAR, Pair, compare
from .report_data import ReportData
from .score_tables import column, levels
from .scores import ModelScore


class VerdictLine(NamedTuple):
    """The comparison that a reader looks for first."""

    text: str
    about: str
    """The compared scores and the method."""


def verdict_lines(report: ReportData) -> list[VerdictLine]:
    """Return a verdict for each track, in the order of the scores."""
    tracks = dict.fromkeys(score.track for score in report.scores)
    return [_verdict(report, [score for score in report.scores if score.track == track]) for track in tracks]


def points(value: float) -> str:
    """Print a difference of shares in points, with its sign: "+10.0"."""
    return _signed(f"{100 * value + 0.0:+.1f}")


def point_bounds(interval: Interval) -> str:
    """Print an interval of a difference in whole points, those near 0 with a digit: "-2 to 22"."""
    return " to ".join(_bound(100 * value) for value in interval)


def p_value(p: float) -> str:
    """Print a p with its relation: "= 0.12"."""
    return "< 0.001" if p < 0.001 else f"= {p:.2g}"


def _bound(value: float) -> str:
    text = f"{value:.0f}" if abs(value) >= 1 else f"{value:.1f}".removesuffix(".0")
    return _signed("0" if text == "-0" else text)


def _signed(text: str) -> str:
    return text.replace("-", "\N{MINUS SIGN}")


def _verdict(report: ReportData, scores: Sequence[ModelScore]) -> VerdictLine:
    best, *others = scores
    [level, *both], scale = levels(report.scores), counted(len(best.scope), "instance")
    level = best.headline if both else level
    samples = f", {best.samples} samples each" if best.samples > 1 else ""
    if not best.overall.graded:
        return VerdictLine(f"{column(best, report.scores)}: nothing graded", f"{best.track} track, {scale}")
    if not others:
        share = best.overall.share(level)
        low, high = (f"{100 * bound:.0f}" for bound in share.interval)
        text = f"{column(best, report.scores)}: {percent(share.value)} {level} (95 % CI {low} to {high})"
        return VerdictLine(text, f"{best.track} track, {scale}{samples}")
    pair, holm = _first_pair(report, best, others[0], level)
    if not pair.instances:
        return VerdictLine(f"{pair.first} and {pair.second} have no graded instance in common", f"{best.track} track")
    if pair.difference < 0:
        pair = pair.reverse
    text = (
        f"{pair.first} {points(pair.difference)} points over {pair.second} (95 % CI {point_bounds(pair.interval)}), "
        f"p {p_value(pair.p_holm)}: {'' if pair.distinguishable else 'not '}distinguishable"
    )
    test = "McNemar's exact test" if pair.test == MCNEMAR else "the exact paired permutation test"
    about = f"Points of {level}, {best.track} track, {counted(pair.instances, 'instance')}{samples}; {test}"
    about += f", adjusted for {counted(holm, 'comparison')} (Holm)." if holm > 1 else "."
    if len(others) > 1:
        about = f"{_ahead(report, best, pair, others)} {about}".strip()
    return VerdictLine(text, about)


def _first_pair(report: ReportData, best: ModelScore, other: ModelScore, level: Level) -> tuple[Pair, int]:
    """Return the comparison of two models, and the number of comparisons that were made."""
    names = [column(score, report.scores) for score in (best, other)]
    at_level = [pair for pair in report.pairs if pair.level is level]
    for pair in at_level:
        if [pair.first, pair.second] == names:
            return pair, len(at_level)
    # There are too many models to compare all pairs, or these two have no instance in common.
    return compare(best, other, names[0], names[1], level), 1


def _ahead(report: ReportData, best: ModelScore, pair: Pair, others: Sequence[ModelScore]) -> str:
    """State the number of models from which the best one is distinguishable."""
    name = column(best, report.scores)
    names = {column(score, report.scores) for score in others}
    found = [
        item
        for item in report.pairs
        if item.level is pair.level and item.first == name and item.second in names and item.distinguishable
    ]
    if not report.pairs:
        return ""
    if len(found) == len(names):
        many = "both" if len(names) == 2 else f"all {len(names)}"
    else:
        many = f"{len(found) or 'none'} of the {len(names)}"
    return f"{name} is distinguishable from {many} other models."
