"""The paired comparisons as the page shows them: a headline for each track, and the differences of all pairs."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from lmrbench_data.base.shares import Interval, percent
from lmrbench_data.base.text import counted

from ...verdict.levels import Level
from ..paired import MCNEMAR, Pair
from ..report_data import ReportData
from ..score_tables import column, levels
from ..scores import ModelScore


class Headline(NamedTuple):
    """The best model of a track against the next one."""

    text: str
    about: str
    """The compared scores and the method."""


def points(value: float) -> str:
    """Print a difference of shares in points, with its sign: "+10.0"."""
    return f"{100 * value + 0.0:+.1f}".replace("-", "\N{MINUS SIGN}")


def point_bounds(interval: Interval) -> str:
    """Print an interval of a difference in whole points: "-2 to 22"."""
    return " to ".join(f"{round(100 * bound)}" for bound in interval).replace("-", "\N{MINUS SIGN}")


def p_value(p: float) -> str:
    """Print a p with its relation: "= 0.12"."""
    return "< 0.001" if p < 0.001 else f"= {p:.2g}"


def headlines(report: ReportData) -> list[Headline]:
    """Return a headline for each track, in the order of the scores."""
    tracks = dict.fromkeys(score.track for score in report.scores)
    return [_headline(report, [score for score in report.scores if score.track == track]) for track in tracks]


def _headline(report: ReportData, scores: Sequence[ModelScore]) -> Headline:
    best, shown = scores[0], levels(report.scores)
    level = best.headline if best.headline in shown else shown[0]
    names = [column(score, report.scores) for score in scores[:2]]
    samples = f", {best.samples} samples each" if best.samples > 1 else ""
    about = f"{best.track} track, {counted(len(best.scope), 'instance')}{samples}"
    if not best.overall.graded:
        return Headline(f"{names[0]}: nothing graded", about)
    comparisons = [pair for pair in report.pairs if pair.level is level]
    pair = next((pair for pair in comparisons if [pair.first, pair.second] == names), None)
    if pair is None:  # one model, too many to compare all pairs, or too few shared instances
        share = best.overall.share(level)
        low, high = (f"{100 * bound:.0f}" for bound in share.interval)
        return Headline(f"{names[0]}: {percent(share.value)} {level} (95 % CI {low} to {high})", about)
    pair = pair.reverse if pair.difference < 0 else pair
    text = (
        f"{pair.first} {points(pair.difference)} points over {pair.second} (95 % CI {point_bounds(pair.interval)}), "
        f"p {p_value(pair.p_holm)}: {'' if pair.distinguishable else 'not '}distinguishable"
    )
    test = "McNemar's exact test" if pair.test == MCNEMAR else "the exact paired permutation test"
    adjusted = f", adjusted for {len(comparisons)} comparisons (Holm)" if len(comparisons) > 1 else ""
    return Headline(text, f"Points of {level}, {about}; {test}{adjusted}.")


def difference_matrix(pairs: Sequence[Pair], level: Level) -> Mapping[tuple[str, str], Pair]:
    """Return the comparisons at a level by (row, column), each from both sides."""
    there = {(pair.first, pair.second): pair for pair in pairs if pair.level is level}
    return there | {(pair.second, pair.first): pair.reverse for pair in there.values()}
