"""The tables of a report: header and rows of plain text, for the terminal, Markdown and HTML alike."""

from collections import Counter
from collections.abc import Sequence

from ...text import counted
from ..judge.category import BEST_FIRST
from ..levels import MISSING, OUTCOMES, Level
from .agreement import Agreement
from .paired import Pair
from .scores import NOT_JUDGED, ModelScore, Tally
from .spending import NAMES

Table = tuple[list[str], list[list[str]]]

#: Words of the tables for outcomes that are not said as they are.
WORDS = {"reproduced": "core only", "infra_error": "INFRA"}


def summary_table(scores: Sequence[ModelScore]) -> Table:
    """Both levels of each model: number, share, interval."""
    several = len({score.run for score in scores}) > 1
    header = [*(["run"] if several else []), "model", "track", *(name for level in Level for name in (level, "95 %"))]
    rows = []
    for score in scores:
        cells = [score.run] if several else []
        cells += [score.name + ("" if score.complete else " [incomplete]"), score.track]
        for level in Level:
            reached, (low, high) = score.overall.reached(level), score.overall.interval(level)
            total = score.overall.total
            if score.overall.graded:
                cells += [f"{percent(reached, total)} ({reached}/{total})", f"{100 * low:.0f} - {100 * high:.0f}"]
            else:  # no share: none of the answers failed
                cells += ["nothing graded", "-"]
        rows.append(cells)
    return [str(name) for name in header], rows


def graded_table(scores: Sequence[ModelScore]) -> Table:
    """Both levels of what could be graded, for models of which something could not."""
    rows = []
    for score in scores:
        tally = score.overall
        if tally.graded < tally.total:
            shares = (percent(tally.reached(level), tally.graded) for level in Level)
            rows.append([column(score, scores), f"{tally.graded}/{tally.total}", *shares])
    return ["model", "graded", *map(str, Level)], rows


def pass_at_table(scores: Sequence[ModelScore]) -> Table:
    """pass@k at both levels, for models with several samples."""
    several = [score for score in scores if score.samples > 1]
    ks = sorted({k for score in several for k in score.pass_at(score.headline)})
    rows = []
    for score in several:
        for level in Level:
            found = score.pass_at(level)
            cells = (f"{100 * found[k]:.1f} %" if k in found else "-" for k in ks)
            rows.append([column(score, scores), str(level), *cells])
    return ["model", "level", *(f"k = {k}" for k in ks)], rows


def outcome_table(scores: Sequence[ModelScore]) -> Table:
    """What became of each model's answers: each counts once, by the level that it reached or by its core cases."""
    levels = [str(level) for level in reversed(Level)]
    shown = [name for name in OUTCOMES if name in levels or any(score.overall.outcomes[name] for score in scores)]
    rows = [[column(score, scores), *(str(score.overall.outcomes[name]) for name in shown)] for score in scores]
    return ["model", *(WORDS.get(name, name) for name in shown)], rows


def cross_table(scores: Sequence[ModelScore]) -> Table:
    """What the judge says of the answers of each outcome: do tests and judge agree?"""
    rows = []
    for score in scores:
        found = Counter((answer.outcome, answer.judged) for items in score.answers.values() for answer in items)
        for name in OUTCOMES if score.overall.has_category else ():
            counts = [found[name, category] for category in BEST_FIRST]
            if total := sum(count for (of, _), count in found.items() if of == name):
                cells = map(str, (*counts, total - sum(counts)))
                rows.append([column(score, scores), WORDS.get(name, name), *cells])
    return ["model", "tests", *(f"judge: {name}" for name in BEST_FIRST), "no category"], rows


def spending_table(scores: Sequence[ModelScore]) -> Table:
    """What an answer of each model took, and what a success cost, as far as the predictions say."""
    forms = {"cost_usd": "{:.4f}", "input_tokens": "{:,.0f}", "output_tokens": "{:,.0f}", "duration_s": "{:,.1f}"}
    words = {
        "cost_usd": "US dollars",
        "input_tokens": "tokens in",
        "output_tokens": "tokens out",
        "duration_s": "seconds",
    }
    named = [name for name in NAMES if any(score.spending.answers[name] for score in scores)]
    header = ["model", *(words[name] for name in named)]
    if has_cost := "cost_usd" in named:
        header += ["dollars in all", *(f"dollars per {level}" for level in Level)]
    rows = []
    for score in scores:
        spending = score.spending
        if not any(spending.answers[name] for name in named):
            continue
        cells = [_amount(spending.mean(name), forms[name]) for name in named]
        if has_cost:
            answers = spending.answers["cost_usd"]
            cells.append(f"{spending.sums['cost_usd']:.2f} for {counted(answers, 'answer')}" if answers else "-")
            cells += [_amount(spending.per_success("cost_usd", level), "{:.4f}") for level in Level]
        rows.append([column(score, scores), *cells])
    return header, rows


def _amount(value: float | None, form: str) -> str:
    return "-" if value is None else form.format(value)


def judge_table(scores: Sequence[ModelScore]) -> Table:
    """The judge's categories and their shares (see `scores`), and what has none. No rows if nothing was judged."""
    judged = [score for score in scores if score.overall.judged]
    reasons = sorted({reason for score in judged for reason in score.overall.not_judged})
    without = [*(f"{NOT_JUDGED}{reason}" for reason in reasons), "missing, malformed", "judge errors", "not asked"]
    header = ["model", *BEST_FIRST, *(f"{name} share" for name in BEST_FIRST), *without]
    rows = []
    for score in judged:
        tally = score.overall
        counts = [str(tally.judged[name]) for name in BEST_FIRST]
        shares = [percent(tally.judged[name], tally.judge_base) for name in BEST_FIRST]
        left = [*(tally.not_judged.get(reason, 0) for reason in reasons), tally.nothing_to_judge]
        left += [tally.judged["judge_error"], tally.unjudged]
        rows.append([column(score, scores), *counts, *shares, *map(str, left)])
    return header, rows


def category_table(scores: Sequence[ModelScore]) -> Table:
    """How many instances of each category a model has reproduced, and how many of them are robust."""
    names = sorted({name for score in scores for name in score.categories})
    header = ["category", *(column(score, scores) for score in scores)]
    return header, [[name, *(_cell(score.categories.get(name)) for score in scores)] for name in names]


def instance_table(scores: Sequence[ModelScore]) -> Table:
    """What became of each instance that somebody answered, one column a model; the judge's category beside it."""
    names = sorted({name for score in scores for name in score.answers})
    header = ["instance", *(column(score, scores) for score in scores)]
    return header, [[name, *(mark(score.instances.get(name)) for score in scores)] for name in names]


def pair_table(pairs: Sequence[Pair]) -> Table:
    """Each two models, on the instances that both could be graded on."""
    rows = [
        [
            *(pair.first, pair.second, str(pair.instances)),
            *(str(pair.first_better), str(pair.second_better), f"{100 * pair.difference:+.1f}"),
            *(f"{p:.2g}" for p in (pair.p, pair.p_holm)),
        ]
        for pair in pairs
    ]
    return ["first", "second", "instances", "first better", "second better", "points", "p", "p (Holm)"], rows


def agreement_tables(agreement: Agreement) -> list[tuple[str, Table]]:
    """How far people and the judge agree: titles and tables."""

    def value(number: float | None, *, as_percent: bool = False) -> str:
        if number is None:
            return "-"
        return f"{100 * number:.1f} %" if as_percent else f"{number:.3f}"

    header = ["pair", "answers", "agreement", "Cohen's kappa", "CC / not-CC agreement", "its kappa", "CC against LI"]
    rows = [
        [
            f"{item.first} - {item.second}",
            str(item.answers),
            value(item.share, as_percent=True),
            value(item.kappa),
            value(item.binary_share, as_percent=True),
            value(item.binary_kappa),
            str(item.conflicts),
        ]
        for item in agreement.pairs
    ]
    tables = [("Agreement", (header, rows))]
    if agreement.fleiss_kappa is not None:
        several = ["annotators", "answers that all labelled", "Fleiss' kappa", "CC / not-CC"]
        numbers = [value(agreement.fleiss_kappa), value(agreement.fleiss_binary_kappa)]
        row = [", ".join(agreement.annotators), str(agreement.fleiss_answers), *numbers]
        tables.append(("Agreement of all annotators", (several, [row])))
    if agreement.confusion:
        matrix = [[f"people: {a}", *(str(agreement.confusion[a, b]) for b in BEST_FIRST)] for a in BEST_FIRST]
        tables.append(("People against the judge", (["", *(f"judge: {name}" for name in BEST_FIRST)], matrix)))
    return tables


def percent(part: int, whole: int) -> str:
    """A share for people; a dash where there is none."""
    return f"{100 * part / whole:.1f} %" if whole else "-"


def column(score: ModelScore, scores: Sequence[ModelScore]) -> str:
    """The heading of a model: its name; the track where there are several, the run where several have that name."""
    tracks = len({other.track for other in scores}) > 1
    name = f"{score.name}, {score.track}" if tracks else score.name
    clash = sum(other.key == score.key for other in scores) > 1
    return f"{score.run}: {name}" if clash else name


def mark(tally: Tally | None) -> str:
    """What became of one instance, in a word; of several samples, how many."""
    if tally is None:
        return "-"
    if tally.total > 1:
        return _counts(tally)
    [name] = tally.outcomes
    judged = next((label for label in tally.judged if label in BEST_FIRST), "")
    return f"{WORDS.get(name, name)} {judged}".strip()


def _counts(tally: Tally) -> str:
    """Reproduced rows of those there are; robust ones in brackets, where that is another number."""
    robust = f" ({tally.robust})" if tally.robust != tally.reproduced else ""
    missing = tally.outcomes[MISSING]
    if missing == tally.total:
        return MISSING
    return f"{tally.reproduced}/{tally.total - missing}{robust}" + (f", {missing} {MISSING}" if missing else "")


def _cell(tally: Tally | None) -> str:
    if tally is None or not tally.graded:
        return "-"
    robust = f" ({tally.robust})" if tally.robust != tally.reproduced else ""
    return f"{tally.reproduced}/{tally.total}{robust}"
