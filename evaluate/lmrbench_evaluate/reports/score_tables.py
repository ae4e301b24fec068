"""Make the tables of a report: header and rows of plain text, for terminal, Markdown and HTML."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from lmrbench_data.base.proportions import Share, bounds, percent, wilson
from lmrbench_data.base.text import plural
from lmrbench_data.base.text_table import Table
from lmrbench_data.tasks.guessing import by_truth, chance, corrected, reciting

from ..judge.opinion import BEST_FIRST
from ..runs.result_log import METHOD_KEYS
from ..verdict.levels import MISSING, OUTCOMES, Level
from .agreement import Agreement
from .paired import Pair
from .scores import READ, ModelScore
from .spending import NAMES
from .tally import NOT_JUDGED, Tally

#: Outcomes that have another word in tables.
WORDS = {"reproduced": "core only", "infra_error": "INFRA"}
#: The same for methods, all of whose cases are core.
METHOD_WORDS = {**WORDS, "robust": "reproduced"}


def on_methods(scores: Iterable[ModelScore]) -> bool:
    """Return whether the answers are to methods, for which the two levels are one."""
    return any(score.is_on_methods for score in scores)


def levels(scores: Iterable[ModelScore]) -> list[Level]:
    """Return the levels to show."""
    return [Level.REPRODUCED] if on_methods(scores) else list(Level)


def words(scores: Iterable[ModelScore]) -> Mapping[str, str]:
    """Return the outcomes that have another word in tables."""
    return METHOD_WORDS if on_methods(scores) else WORDS


def summary_table(scores: Sequence[ModelScore]) -> Table:
    """Make the table of the levels of each model: share, number, interval."""
    several = len({score.run for score in scores}) > 1
    shown = levels(scores)
    header = [
        *(["run"] if several else []),
        "model",
        "track",
        *(name for level in shown for name in (level, "95%")),
    ]
    rows = []
    for score in scores:
        cells = [score.run] if several else []
        name = f"{score.name}, {score.part}" if score.part else score.name
        cells += [name + ("" if score.complete else " [incomplete]"), score.track]
        for level in shown:
            share = score.overall.share(level)
            # Where nothing was graded, no answer failed either.
            cells += (
                [share.fraction, share.bounds] if score.overall.graded else ["nothing graded", "-"]
            )
        rows.append(cells)
    return [str(name) for name in header], rows


def graded_table(scores: Sequence[ModelScore]) -> Table:
    """Make the table of both levels as shares of graded answers, for models with ungraded ones."""
    rows = []
    for score in scores:
        tally = score.overall
        if tally.graded < tally.total:
            shares = (Share(tally.reached(level), tally.graded).percent for level in levels(scores))
            rows.append([column(score, scores), f"{tally.graded}/{tally.total}", *shares])
    return ["model", "graded", *map(str, levels(scores))], rows


def method_table(scores: Sequence[ModelScore]) -> Table:
    """Make the table of the functions and experiments of methods that passed."""
    shares = {f"{key} passed": lambda score, key=key: score.parts(key) for key in METHOD_KEYS}
    return _share_table(scores, [score for score in scores if score.is_on_methods], shares)


def reading_table(scores: Sequence[ModelScore]) -> Table:
    """Make the table of altered choices: read from the paper, recited as published, or neither."""
    shares = {
        name: lambda score, kinds=kinds: score.reading(*kinds) for name, kinds in READ.items()
    }
    return _share_table(scores, [score for score in scores if score.has_readings], shares)


def _share_table(
    scores: Sequence[ModelScore],
    shown: Sequence[ModelScore],
    shares: Mapping[str, Callable[[ModelScore], Share]],
) -> Table:
    rows = []
    for score in shown:
        values = [share(score) for share in shares.values()]
        rows.append(
            [
                column(score, scores),
                *(cell for share in values for cell in (share.fraction, share.bounds)),
            ]
        )
    return ["model", *(cell for title in shares for cell in (title, "95%"))], rows


def settled_table(scores: Sequence[ModelScore]) -> Table:
    """Make the table of choices that papers leave open: settled, and beside it what needs no experiment."""
    rows = []
    for score in scores:
        if choices := score.open_choices:
            share = score.settled()
            beyond, groups = corrected(choices), by_truth(choices)
            rows.append(
                [
                    column(score, scores),
                    share.fraction,
                    share.bounds,
                    percent(chance(choices)),
                    percent(reciting(choices)),
                    "-" if beyond is None else f"{beyond:.2f}",
                    *(Share(*groups[truth]).fraction for truth in (True, False)),
                ]
            )
    header = [
        "model",
        "settled",
        "95%",
        "chance",
        "reciting",
        "corrected",
        "published is true",
        "other is true",
    ]
    return header, rows


def pass_at_table(scores: Sequence[ModelScore]) -> Table:
    """Make the table of pass@k with its interval at both levels, for models with several samples."""
    several = [score for score in scores if score.samples > 1]
    ks = sorted({k for score in several for k in score.pass_at(score.headline)})
    rows = []
    for score in several:
        for level in levels(scores):
            rates, units = score.pass_at(level), len(score.scope)
            ends = {k: f" ({bounds(wilson(rate * units, units))})" for k, rate in rates.items()}
            rows.append(
                [
                    column(score, scores),
                    str(level),
                    *(percent(rates.get(k)) + ends.get(k, "") for k in ks),
                ]
            )
    return ["model", "level", *(f"k = {k}" for k in ks)], rows


def outcome_table(scores: Sequence[ModelScore]) -> Table:
    """Make the table of outcomes: each answer counts once, by its level or the status of its core cases."""
    best = [Level.ROBUST] if on_methods(scores) else list(Level)
    shown = [
        name
        for name in OUTCOMES
        if name in best or any(score.overall.outcomes[name] for score in scores)
    ]
    rows = [
        [column(score, scores), *(str(score.overall.outcomes[name]) for name in shown)]
        for score in scores
    ]
    return ["model", *(words(scores).get(name, name) for name in shown)], rows


def cross_table(scores: Sequence[ModelScore]) -> Table:
    """Make the table of the judge's categories by outcome: do tests and judge agree?"""
    rows = []
    for score in scores:
        pairs = Counter(
            (answer.outcome, answer.judged) for items in score.answers.values() for answer in items
        )
        for name in OUTCOMES if score.overall.has_category else ():
            counts = [pairs[name, category] for category in BEST_FIRST]
            if total := sum(count for (outcome, _), count in pairs.items() if outcome == name):
                cells = map(str, (*counts, total - sum(counts)))
                rows.append([column(score, scores), words(scores).get(name, name), *cells])
    return ["model", "tests", *(f"judge: {name}" for name in BEST_FIRST), "no category"], rows


def spending_table(scores: Sequence[ModelScore]) -> Table:
    """Make the table of cost, tokens and time per answer, and of the cost of a success, from the predictions."""
    named = [name for name in NAMES if any(score.spending.answers[name] for score in scores)]
    header = ["model", *(NAMES[name].title for name in named)]
    if has_cost := "cost_usd" in named:
        header += ["dollars in all", *(f"dollars per {level}" for level in levels(scores))]
    rows = []
    for score in scores:
        spending = score.spending
        if not any(spending.answers[name] for name in named):
            continue
        cells = [NAMES[name].show(spending.mean(name)) for name in named]
        if has_cost:
            answers = spending.answers["cost_usd"]
            cells.append(
                f"{spending.sums['cost_usd']:.2f} for {plural(answers, 'answer')}"
                if answers
                else "-"
            )
            cells += [
                NAMES["cost_usd"].show(spending.per_success("cost_usd", level))
                for level in levels(scores)
            ]
        rows.append([column(score, scores), *cells])
    return header, rows


def judge_table(scores: Sequence[ModelScore]) -> Table:
    """Make the table of the judge's categories with shares (see `scores`), and of answers without one."""
    judged = [score for score in scores if score.overall.judged]
    reasons = sorted({reason for score in judged for reason in score.overall.not_judged})
    without = [
        *(f"{NOT_JUDGED}{reason}" for reason in reasons),
        "missing, malformed",
        "judge errors",
        "not asked",
    ]
    header = ["model", *BEST_FIRST, *(f"{name} share" for name in BEST_FIRST), *without]
    rows = []
    for score in judged:
        tally = score.overall
        counts = [str(tally.judged[name]) for name in BEST_FIRST]
        shares = [Share(tally.judged[name], tally.judge_base).percent for name in BEST_FIRST]
        left = [*(tally.not_judged.get(reason, 0) for reason in reasons), tally.nothing_to_judge]
        left += [tally.judged["judge_error"], tally.unjudged]
        rows.append([column(score, scores), *counts, *shares, *map(str, left)])
    return header, rows


def category_table(scores: Sequence[ModelScore]) -> Table:
    """Make the table of reproduced instances by category, with the number of robust ones."""
    names = sorted({name for score in scores for name in score.categories})
    header = ["category", *(column(score, scores) for score in scores)]
    return header, [
        [name, *(_cell(score.categories.get(name)) for score in scores)] for name in names
    ]


def instance_table(scores: Sequence[ModelScore]) -> Table:
    """Make the table of outcomes by instance, one column per model, with the judge's category."""
    names = sorted({name for score in scores for name in score.answers})
    header = ["instance", *(column(score, scores) for score in scores)]
    used = words(scores)
    return header, [
        [name, *(mark(score.instances.get(name), used) for score in scores)] for name in names
    ]


def pair_table(pairs: Sequence[Pair], level: Level) -> Table:
    """Make the table of paired comparisons at a level, on the instances graded for both models."""
    rows = [
        [
            *(pair.first, pair.second, str(pair.instances)),
            *(str(pair.first_better), str(pair.second_better), f"{100 * pair.difference:+.1f}"),
            bounds(pair.interval),
            *(f"{p:.2g}" for p in (pair.p, pair.p_holm)),
        ]
        for pair in pairs
        if pair.level is level
    ]
    return [
        "first",
        "second",
        "instances",
        "first better",
        "second better",
        "points",
        "95%",
        "p",
        "p (Holm)",
    ], rows


def agreement_tables(agreement: Agreement) -> list[tuple[str, Table]]:
    """Make the tables of agreement of people and judge, with titles."""

    def value(number: float | None) -> str:
        return "-" if number is None else f"{number:.3f}"

    header = [
        "pair",
        "answers",
        "agreement",
        "Cohen's kappa",
        "CC / not-CC agreement",
        "its kappa",
        "CC against LI",
    ]
    rows = [
        [
            f"{item.first} - {item.second}",
            str(len(item.labels)),
            item.agreement.percent,
            value(item.kappa),
            item.binary.agreement.percent,
            value(item.binary.kappa),
            str(item.conflicts.part),
        ]
        for item in agreement.pairs
    ]
    return [
        ("Agreement", (header, rows)),
        ("People against the judge", confusion_table(agreement.confusion)),
    ]


def confusion_table(confusion: Counter[tuple[str, str]]) -> Table:
    """Make the table of (people's category, the judge's) → answers; without rows if there are none."""
    rows = [[f"people: {a}", *(str(confusion[a, b]) for b in BEST_FIRST)] for a in BEST_FIRST]
    return ["", *(f"judge: {name}" for name in BEST_FIRST)], rows if confusion else []


def column(score: ModelScore, scores: Sequence[ModelScore]) -> str:
    """Return the heading of a model: its name, with what distinguishes it (setting, track; the run if names clash)."""
    settings, tracks = ({getattr(other, part) for other in scores} for part in ("setting", "track"))
    name = score.name if len(settings) > 1 else score.model
    name = f"{name}, {score.track}" if len(tracks) > 1 else name
    name = f"{name}, {score.part}" if score.part else name
    clash = any(other.key == score.key and other.run != score.run for other in scores)
    return f"{score.run}: {name}" if clash else name


def mark(tally: Tally | None, words: Mapping[str, str] = WORDS) -> str:
    """Return the outcome of one instance in a word; for several samples, the numbers."""
    if tally is None:
        return "-"
    if tally.total > 1:
        missing = tally.outcomes[MISSING]
        if missing == tally.total:
            return MISSING
        return _fraction(tally, tally.total - missing) + (
            f", {missing} {MISSING}" if missing else ""
        )
    [name] = tally.outcomes
    judged = next((label for label in tally.judged if label in BEST_FIRST), "")
    return f"{words.get(name, name)} {judged}".strip()


def _cell(tally: Tally | None) -> str:
    return _fraction(tally, tally.total) if tally and tally.graded else "-"


def _fraction(tally: Tally, whole: int) -> str:
    """Return the reproduced rows of those present, with robust ones in brackets if that number differs."""
    return f"{tally.reproduced}/{whole}" + (
        f" ({tally.robust})" if tally.robust != tally.reproduced else ""
    )
