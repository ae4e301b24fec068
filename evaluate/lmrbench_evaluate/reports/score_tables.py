"""Make the tables of a report: header and rows of plain text, for terminal, Markdown and HTML."""

import functools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

from lmrbench_data.base.proportions import Share, bounds, percent
from lmrbench_data.base.text import plural
from lmrbench_data.tasks.guessing import by_truth, chance, corrected, reciting

from ..judge.opinion import BEST_FIRST
from ..runs.result_log import METHOD_KEYS
from ..verdict.levels import MISSING, OUTCOMES, Level
from .agreement import PairAgreement
from .paired import Pair
from .scores import READ, ModelScore, Scores
from .spending import NAMES, Spending
from .tally import NOT_JUDGED, Tally
from .text_table import Table

#: Outcomes that have another word in tables.
WORDS = {"reproduced": "core only", "infra_error": "INFRA"}
#: The same for methods, all of whose cases are core.
METHOD_WORDS = {**WORDS, "robust": "reproduced"}


#: Heading → cell.
Row = dict[str, str]


def _table(rows: Iterable[Row]) -> Table:
    """Make a table of rows with the same headings."""
    rows = list(rows)
    header = list(rows[0]) if rows else [""]
    return header, [list(row.values()) for row in rows]


def _by_model(
    make_rows: Callable[[ModelScore, Scores], Iterator[Row]],
) -> Callable[[Scores], Table]:
    """Make a table of the rows of each model, which begin with its name."""

    @functools.wraps(make_rows)
    def make_table(scores: Scores) -> Table:
        rows: list[Row] = []
        for score in scores:
            model = {"model": column(score, scores)}
            rows += [model | row for row in make_rows(score, scores)]
        return _table(rows)

    return make_table


def on_methods(scores: Iterable[ModelScore]) -> bool:
    """Return whether the answers are to methods, for which the two levels are one."""
    return any(score.is_on_methods for score in scores)


def levels(scores: Iterable[ModelScore]) -> list[Level]:
    """Return the levels to show."""
    return [Level.REPRODUCED] if on_methods(scores) else list(Level)


def words(scores: Iterable[ModelScore]) -> Mapping[str, str]:
    """Return the outcomes that have another word in tables."""
    return METHOD_WORDS if on_methods(scores) else WORDS


def summary_table(scores: Scores) -> Table:
    """Make the table of the levels of each model: share, number, interval."""
    several = len({score.run for score in scores}) > 1
    header = ["run", "model", "track"]
    for level in levels(scores):
        header += [str(level), "95%"]
    rows = [_summary_row(score, levels(scores)) for score in scores]
    return (header, rows) if several else (header[1:], [row[1:] for row in rows])


def _summary_row(score: ModelScore, shown: Iterable[Level]) -> list[str]:
    name = f"{score.name}, {score.part}" if score.part else score.name
    row = [score.run, name if score.complete else f"{name} [incomplete]", score.track]
    for level in shown:
        share = score.overall.share(level)
        # Where nothing was graded, no answer failed either.
        row += _cells(share) if score.overall.graded else ["nothing graded", "-"]
    return row


def _cells(share: Share) -> list[str]:
    return [share.fraction, share.bounds]


def method_table(scores: Scores) -> Table:
    """Make the table of the functions and experiments of methods that passed."""
    shares = {}
    for score in scores:
        if score.is_on_methods:
            shares[column(score, scores)] = [score.parts(key) for key in METHOD_KEYS]
    return _share_table([f"{key} passed" for key in METHOD_KEYS], shares)


def reading_table(scores: Scores) -> Table:
    """Make the table of altered choices: read from the paper, recited as published, or neither."""
    shares = {}
    for score in scores:
        if score.has_readings:
            shares[column(score, scores)] = [score.reading(*kinds) for kinds in READ.values()]
    return _share_table(READ, shares)


def _share_table(titles: Iterable[str], shares: Mapping[str, list[Share]]) -> Table:
    """Make a table of shares and their intervals: model → shares, in the order of the titles."""
    header = ["model"]
    for title in titles:
        header += [title, "95%"]
    return header, [[name, *chain.from_iterable(map(_cells, row))] for name, row in shares.items()]


@_by_model
def settled_table(score: ModelScore, _: Scores) -> Iterator[Row]:
    """Make the table of open choices: settled, and beside it what needs no experiment."""
    choices = score.open_choices
    if choices:
        share = score.settled()
        groups = by_truth(choices)
        yield {
            "settled": share.fraction,
            "95%": share.bounds,
            "chance": percent(chance(choices)),
            "reciting": percent(reciting(choices)),
            "corrected": _decimal(corrected(choices), 2),
            "published is true": Share(*groups[True]).fraction,
            "other is true": Share(*groups[False]).fraction,
        }


@_by_model
def pass_at_table(score: ModelScore, scores: Scores) -> Iterator[Row]:
    """Make the table of pass@k and pass^k with intervals, for models with several samples."""
    ks = sorted(set().union(*(other.sample_counts for other in scores)))
    for level in levels(scores):
        for name, rates in (("pass@k", score.pass_at(level)), ("pass^k", score.pass_all(level))):
            row = {"level": str(level), "rate": name} | {f"k = {k}": "-" for k in ks}
            for k, rate in rates.items():
                row[f"k = {k}"] = f"{percent(rate)} ({bounds(score.rate_interval(rate))})"
            if rates:
                yield row


@_by_model
def outcome_table(score: ModelScore, scores: Scores) -> Iterator[Row]:
    """Make the table of outcomes: each answer counts by its level or the status of core cases."""
    shown: set[str] = {Level.ROBUST} if on_methods(scores) else set(Level)
    shown = shown.union(*(other.overall.outcomes for other in scores))
    counts = {name: str(score.overall.outcomes[name]) for name in OUTCOMES if name in shown}
    yield {words(scores).get(name, name): count for name, count in counts.items()}


@_by_model
def cross_table(score: ModelScore, scores: Scores) -> Iterator[Row]:
    """Make the table of the judge's categories by outcome: do tests and judge agree?"""
    for name in OUTCOMES if score.overall.has_category else ():
        judged = [answer.judged for _, answer in score.each_answer() if answer.outcome == name]
        if judged:
            counts = {f"judge: {category}": judged.count(category) for category in BEST_FIRST}
            counts["no category"] = len(judged) - sum(counts.values())
            cells = {title: str(count) for title, count in counts.items()}
            yield {"tests": words(scores).get(name, name), **cells}


@_by_model
def spending_table(score: ModelScore, scores: Scores) -> Iterator[Row]:
    """Make the table of cost, tokens and time per answer, and of the cost of a success."""
    stated = set().union(*(other.spending.answers for other in scores))
    spending = score.spending
    if spending.answers:
        shown = {name: number for name, number in NAMES.items() if name in stated}
        row = {number.title: number.show(spending.mean(name)) for name, number in shown.items()}
        yield row | _dollars(spending, levels(scores)) if "cost_usd" in stated else row


def _dollars(spending: Spending, shown: Iterable[Level]) -> Row:
    answers = spending.answers["cost_usd"]
    total = f"{spending.sums['cost_usd']:.2f} for {plural(answers, 'answer')}"
    cells = {"dollars in all": total if answers else "-"}
    for level in shown:
        price = spending.per_success("cost_usd", level)
        cells[f"dollars per {level}"] = NAMES["cost_usd"].show(price)
    return cells


@_by_model
def judge_table(score: ModelScore, scores: Scores) -> Iterator[Row]:
    """Make the table of the judge's categories (see `scores`), and of answers without one."""
    if score.overall.judged:
        reasons = sorted(set().union(*(other.overall.not_judged for other in scores)))
        counts = _judge_counts(score.overall, reasons)
        yield {title: str(count) for title, count in counts.items()}


def _judge_counts(tally: Tally, reasons: Iterable[str]) -> dict[str, Any]:
    return {
        **{name: tally.judged[name] for name in BEST_FIRST},
        **{f"{name} share": tally.judged_share(name).percent for name in BEST_FIRST},
        **{f"{NOT_JUDGED}{reason}": tally.not_judged.get(reason, 0) for reason in reasons},
        "missing, malformed": tally.nothing_to_judge,
        "judge errors": tally.judged["judge_error"],
        "not asked": tally.unjudged,
    }


def setting_table(scores: Scores) -> Table:
    """Make the table of models by settings: each model with each agent, at the ranking level."""
    settings = sorted({score.setting for score in scores})
    rows: dict[tuple[str, str], Row] = {}
    for score in scores if len(settings) > 1 else ():
        start = {"model": score.model, "track": score.track} | dict.fromkeys(settings, "-")
        row = rows.setdefault((score.model, score.track), start)
        cell = score.overall.share(score.headline).percent
        row[score.setting] = cell if row[score.setting] == "-" else f"{row[score.setting]}, {cell}"
    header, cells = _table(rows.values())
    return [name or "standard" for name in header], cells


def category_table(scores: Scores) -> Table:
    """Make the table of reproduced instances by category, with the number of robust ones."""
    rows = []
    for name in sorted(set().union(*(score.categories for score in scores))):
        rows.append([name, *(_cell(score.categories.get(name)) for score in scores)])
    return ["category", *(column(score, scores) for score in scores)], rows


def instance_table(scores: Scores) -> Table:
    """Make the table of outcomes by instance, a column per model, with the judge's category."""
    rows = []
    for name in sorted(set().union(*(score.answers for score in scores))):
        marks = [mark(score.instances.get(name), words(scores)) for score in scores]
        rows.append([name, *marks])
    return ["instance", *(column(score, scores) for score in scores)], rows


def pair_table(pairs: Iterable[Pair], level: Level) -> Table:
    """Make the table of paired comparisons at a level, on the instances graded for both models."""
    return _table(_pair_row(pair) for pair in pairs if pair.level is level)


def _pair_row(pair: Pair) -> Row:
    return {
        "first": pair.first,
        "second": pair.second,
        "instances": str(pair.instances),
        "first better": str(pair.first_better),
        "second better": str(pair.second_better),
        "points": f"{100 * pair.difference:+.1f}",
        "95%": bounds(pair.interval),
        "noise floor": "-" if pair.noise_floor is None else f"{100 * pair.noise_floor:.1f}",
        "p": f"{pair.p:.2g}",
        "p (Holm)": f"{pair.p_holm:.2g}",
    }


def agreement_table(pairs: Iterable[PairAgreement]) -> Table:
    """Make the table of the agreement of people and judge."""
    return _table(map(_agreement_row, pairs))


def _agreement_row(pair: PairAgreement) -> Row:
    binary = pair.binary
    return {
        "pair": f"{pair.first} - {pair.second}",
        "answers": str(len(pair.labels)),
        "agreement": pair.agreement.percent,
        "Cohen's kappa": _decimal(pair.kappa, 3),
        "CC / not-CC agreement": binary.agreement.percent,
        "its kappa": _decimal(binary.kappa, 3),
        "CC against LI": str(pair.conflicts.part),
    }


def _decimal(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def confusion_table(confusion: Counter[tuple[str, str]]) -> Table:
    """Make the table of (people's category, the judge's) → answers; without rows if empty."""
    header = ["", *(f"judge: {name}" for name in BEST_FIRST)]
    rows = []
    for label in BEST_FIRST if confusion else ():
        rows.append([f"people: {label}", *(str(confusion[label, name]) for name in BEST_FIRST)])
    return header, rows


def column(score: ModelScore, scores: Scores) -> str:
    """Return the heading of a model: its name, with what distinguishes it from the other scores."""
    name = score.name if len({other.setting for other in scores}) > 1 else score.model
    if len({other.track for other in scores}) > 1:
        name = f"{name}, {score.track}"
    if score.part:
        name = f"{name}, {score.part}"
    clash = any(other.key == score.key and other.run != score.run for other in scores)
    return f"{score.run}: {name}" if clash else name


def mark(tally: Tally | None, words: Mapping[str, str] = WORDS) -> str:
    """Return the outcome of one instance in a word; for several samples, the numbers."""
    if tally is None:
        return "-"
    missing = tally.outcomes[MISSING]
    if missing == tally.total:
        return MISSING
    if tally.total > 1:
        numbers = _fraction(tally, tally.total - missing)
        return f"{numbers}, {missing} {MISSING}" if missing else numbers
    [name] = tally.outcomes
    labels = [label for label in tally.judged if label in BEST_FIRST]
    return " ".join([words.get(name, name), *labels])


def _cell(tally: Tally | None) -> str:
    return _fraction(tally, tally.total) if tally and tally.graded else "-"


def _fraction(tally: Tally, whole: int) -> str:
    """Return the reproduced rows of those present; robust ones in brackets if they differ."""
    fraction = f"{tally.reproduced}/{whole}"
    return fraction if tally.robust == tally.reproduced else f"{fraction} ({tally.robust})"
