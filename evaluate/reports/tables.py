"""The tables of a report: header and rows of plain text, for the terminal, Markdown and HTML alike."""

from collections.abc import Sequence

from ..judge.category import BEST_FIRST
from .agreement import Agreement
from .levels import OUTCOMES, Level
from .paired import Pair
from .scores import NOT_JUDGED, ModelScore, Tally

Table = tuple[list[str], list[list[str]]]

#: Words of the tables for outcomes that are not said as they are.
WORDS = {"reproduced": "core only", "infra_error": "INFRA"}


def summary_table(scores: Sequence[ModelScore]) -> Table:
    """Both levels of each model: share and interval; of graded, where that differs; pass@k."""
    several = len({score.run for score in scores}) > 1
    ungraded = any(score.overall.graded < score.overall.total for score in scores)
    ks = sorted({k for score in scores for k in score.pass_at(score.headline) if k > 1})
    header = [*(["run"] if several else []), "model", "track"]
    for level in Level:
        header += [str(level), "share", "95 %", *(["of graded"] if ungraded else [])]
    rows = []
    for score in scores:
        tally = score.overall
        cells = [score.run] if several else []
        cells += [score.name + ("" if score.complete else " [incomplete]"), score.track]
        for level in Level:
            reached, (low, high) = tally.reached(level), tally.interval(level)
            cells += [f"{reached}/{tally.total}", percent(reached, tally.total), f"{100 * low:.0f} - {100 * high:.0f}"]
            cells += [percent(reached, tally.graded)] if ungraded else []
        for k in ks:
            for level in Level:
                pass_at = score.pass_at(level)
                cells.append(f"{100 * pass_at[k]:.1f} %" if k in pass_at else "-")
        rows.append(cells)
    return [*header, *(f"{level} @{k}" for k in ks for level in Level)], rows


def outcome_table(scores: Sequence[ModelScore]) -> Table:
    """What became of each model's answers: each counts once, by the level that it reached or by its core cases."""
    levels = [str(level) for level in reversed(Level)]
    shown = [name for name in OUTCOMES if name in levels or any(score.overall.outcomes[name] for score in scores)]
    rows = [[column(score, scores), *(str(score.overall.outcomes[name]) for name in shown)] for score in scores]
    return ["model", *(WORDS.get(name, name) for name in shown)], rows


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
    """What became of each instance, one column a model; the judge's category beside it, if there is one."""
    names = sorted({name for score in scores for name in score.instances})
    header = ["instance", *(column(score, scores) for score in scores)]
    return header, [[name, *(mark(score.instances.get(name)) for score in scores)] for name in names]


def pair_table(pairs: Sequence[Pair]) -> Table:
    """McNemar's test for each two models on the instances that both could be graded on, at each level."""
    header = ["level", "first", "second", "instances", "both", "only first", "only second", "neither", "p", "p (Holm)"]
    rows = [
        [
            str(pair.level),
            pair.first,
            pair.second,
            *map(str, (pair.instances, pair.both, pair.only_first, pair.only_second, pair.neither)),
            *(f"{p:.3g}" for p in (pair.p, pair.p_holm)),
        ]
        for pair in pairs
    ]
    return header, rows


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
    """Reproduced rows of all; those that are robust in brackets, where that is another number."""
    robust = f" ({tally.robust})" if tally.robust != tally.reproduced else ""
    return f"{tally.reproduced}/{tally.total}{robust}"


def _cell(tally: Tally | None) -> str:
    return _counts(tally) if tally else "-"
