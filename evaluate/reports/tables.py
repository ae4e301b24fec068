"""The tables of a report: header and rows of plain text, for the terminal, Markdown and HTML alike."""

from collections.abc import Iterable, Sequence

from ..judge.category import BEST_FIRST
from ..verdict import Status
from .agreement import Agreement
from .paired import Pair
from .scores import MISSING, NOT_JUDGED, ModelScore, Tally

Table = tuple[list[str], list[list[str]]]

#: In the instance table: one mark for each status, and one for an instance without prediction.
MARKS = {
    Status.PASSED: "pass",
    Status.FAILED: "fail",
    Status.ERROR: "error",
    Status.TIMEOUT: "time",
    Status.OOM: "oom",
    Status.MALFORMED: "malf",
    Status.INFRA_ERROR: "INFRA",
}


def summary_table(scores: Sequence[ModelScore]) -> Table:
    """Accuracy, interval, both rates, pass@k, statuses."""
    shown = [str(status) for status in Status if status is not Status.PASSED and _any(scores, status)]
    missing = [MISSING] if _any(scores, MISSING) else []
    several = len({score.run for score in scores}) > 1
    ks = sorted({k for score in scores for k in score.pass_at() if k > 1})
    header = [*(["run"] if several else []), "model", "passed", "accuracy", "95 % interval", "of graded"]
    rows = []
    for score in scores:
        tally = score.overall
        low, high = tally.interval
        pass_at = score.pass_at()
        rows.append(
            [
                *([score.run] if several else []),
                score.name + ("" if score.complete else " [incomplete]"),
                f"{tally.passed}/{tally.total}",
                percent(tally.passed, tally.total),
                f"{100 * low:.1f} - {100 * high:.1f}",
                percent(tally.passed, tally.graded),
                *(f"{100 * pass_at[k]:.1f} %" if k in pass_at else "-" for k in ks),
                *(str(tally.counts[name]) for name in (*shown, *missing)),
            ]
        )
    return [*header, *(f"pass@{k}" for k in ks), *shown, *missing], rows


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
    """Accuracy by category, one column a model."""
    names = sorted({name for score in scores for name in score.categories})
    header = ["category", *(column(score, scores) for score in scores)]
    return header, [[name, *(_cell(score.categories.get(name)) for score in scores)] for name in names]


def instance_table(scores: Sequence[ModelScore]) -> Table:
    """The verdict on each instance, one column a model; the judge's category beside it, if there is one."""
    names = sorted({name for score in scores for name in score.instances})
    header = ["instance", *(column(score, scores) for score in scores)]
    return header, [[name, *(mark(score.instances.get(name)) for score in scores)] for name in names]


def pair_table(pairs: Sequence[Pair]) -> Table:
    """McNemar's test for each two models on the instances that both could be graded on."""
    header = ["first", "second", "instances", "both passed", "only first", "only second", "neither", "p", "p (Holm)"]
    rows = [
        [
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
    """The heading of a model: its name, with the run where several have that name."""
    clash = sum(other.name == score.name for other in scores) > 1
    return score.key if clash else score.name


def mark(tally: Tally | None) -> str:
    """The verdict on one instance in a word."""
    if tally is None:
        return "-"
    if tally.total > 1:
        return f"{tally.passed}/{tally.total}"
    [name] = tally.counts
    verdict = MISSING if name == MISSING else MARKS[Status(name)]
    judged = next((label for label in tally.judged if label in BEST_FIRST), "")
    return f"{verdict} {judged}".strip()


def _any(scores: Iterable[ModelScore], status: str) -> bool:
    return any(score.overall.counts[status] for score in scores)


def _cell(tally: Tally | None) -> str:
    return f"{tally.passed}/{tally.total}" if tally else "-"
