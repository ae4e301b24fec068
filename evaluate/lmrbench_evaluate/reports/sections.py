"""The parts of a report in any format: its tables, its notes, and the answers that did not pass."""

from collections.abc import Collection, Iterator
from pathlib import Path

from lmrbench_data.base.proportions import percent
from lmrbench_data.base.text import join_names, plural
from lmrbench_data.dataset.result_rows import ResultRow
from lmrbench_data.tasks.experiments import ROWS
from lmrbench_data.tasks.guessing import chance, reciting

from ..runs.folder import RunFolder
from ..verdict.levels import Level, outcome
from ..verdict.verdict import Status
from .data import ReportData
from .paired import MIN_SHARED
from .score_tables import (
    WORDS,
    agreement_table,
    category_table,
    confusion_table,
    cross_table,
    instance_table,
    judge_table,
    levels,
    method_table,
    on_methods,
    outcome_table,
    pair_table,
    pass_at_table,
    reading_table,
    setting_table,
    settled_table,
    spending_table,
    summary_table,
)
from .scores import READ, ModelScore, Scores, only_difficulty, with_difficulties
from .text_table import Table

#: Largest number of names in one note.
MAX_NAMED = 10
#: What the levels mean.
ABOUT_LEVELS = (
    "An answer reproduces the paper if every core case passes (these follow from paper and "
    "repository alone), and is robust if every case passes (including those of the contract).",
    "Models are ranked by reproduced in the paper track, where they do not see the contract, and "
    "by robust in the contract track, where they do, and where the track is unstated.",
)
#: The same for methods.
ABOUT_METHODS = (
    "An answer reproduces a method if every case passes: those of its functions, and the "
    "experiments, which run them together.",
    "A function passes if every case that tests it passes; one that calls another may fail because "
    "of it. The shares of functions and experiments are of all answers but infra errors, and their "
    "intervals count the answers to one method as one.",
)
#: Printed with all scores on LMR-Bench's own tasks.
COMPARABILITY = (
    "LMR-Bench's repositories are compact re-implementations: its numbers cannot be compared with "
    "those of the LMR-BENCH paper."
)
CORE_ONLY = "Core only: reproduced but not robust. Other outcomes are the status of the core cases."
SHARES = (
    "Shares are of all instances in the scope; an instance without a prediction counts as not "
    "passed. Intervals are Wilson's 95% intervals."
)
SAMPLES = (
    "With several samples, a share is the mean over samples, and the n of its interval, as of "
    "those of pass@k, is the number of instances. pass@k is the unbiased estimate of the chance "
    "that one of k samples succeeds."
)
DOLLARS = (
    "Dollars per reproduced or robust instance: the cost of all answers, including wrong ones, "
    "divided by the number of reproduced or robust answers. Answers without a stated cost are left "
    "out of both. Dollars are an upper bound if the server read tokens from a cache whose price "
    "was not stated."
)
CORRECTED = "Corrected is 0 for the larger of both, and 1 for all."
JUDGE = (
    "Judge: CC completely correct, LC logic correct with subtle errors, LI incorrect logic. Shares "
    "are of all answers, including missing, malformed and too long ones, without judge errors and "
    "answers that the judge was not asked about."
)
PAIRS = (
    "p is the two-sided p of the exact paired permutation test on each instance's share of "
    "samples; with one sample each, this is McNemar's exact test. Instances with an infra error "
    "are left out. Points are the difference of the shares. The noise floor is the smallest "
    "difference that could have been significant: just enough instances differ, all in favour of "
    "one model, each by one sample. Holm's p is adjusted for the number of "
    "comparisons at a level. Models of two tracks, or with fewer than "
    f"{MIN_SHARED} shared instances, are not compared."
)
MEMORISED = "passes the published seeds and fails fresh ones (memorised outputs?)"


def tables(report: ReportData) -> list[tuple[str, Table]]:
    """Return the titles and tables of a report, without empty ones."""
    split = with_difficulties(report.scores)
    titled = [*_score_tables(report.scores, split), *_comparison_tables(report)]
    return [(title, table) for title, table in titled if table[1]]


def _score_tables(scores: Scores, split: Scores) -> Iterator[tuple[str, Table]]:
    yield "Unit-test accuracy", summary_table(split)
    yield "Models by settings and agents", setting_table(scores)
    yield "Outcomes", outcome_table(split)
    yield "Functions of methods", method_table(split)
    yield "Altered choices", reading_table(scores)
    yield f"Open choices{only_difficulty(scores)}", settled_table(split)
    yield "pass@k and pass^k", pass_at_table(split)
    yield "Judge", judge_table(scores)
    yield "Tests and judge", cross_table(scores)
    yield "Cost, tokens and time per answer", spending_table(split)
    yield "By category", category_table(scores)
    yield "By instance", instance_table(scores)


def _comparison_tables(report: ReportData) -> Iterator[tuple[str, Table]]:
    for level in levels(report.scores):
        yield f"Paired comparison: {level}", pair_table(report.pairs, level)
    if report.agreement:
        yield "Agreement", agreement_table(report.agreement.pairs)
        yield "People against the judge", confusion_table(report.agreement.confusion)


def notes(report: ReportData) -> list[str]:
    """Return the notes of a report: warnings, then explanations of its tables."""
    return [*warnings(report), *explanations(report)]


def warnings(report: ReportData) -> list[str]:
    """Return the notes without which the numbers mislead; the terminal always shows them."""
    lines = []
    if report.bad_annotations:
        lines.append(f"{plural(len(report.bad_annotations), 'row')} of labels could not be read.")
    for score in report.scores:
        if score.spending.cut:
            cut = plural(score.spending.cut, "answer was", "answers were")
            lines.append(f"{score.name}: {cut} cut at the token limit; raise --max-tokens.")
    lost = sum(score.overall.votes_lost for score in report.scores)
    if lost:
        categories = plural(lost, "category rests", "categories rest")
        lines.append(
            f"{categories} on fewer votes than the judge was asked for: the other requests failed."
        )
    searching = sum(score.searching for score in report.scores)
    if searching:
        answers = plural(searching, "answer holds", "answers hold")
        lines.append(
            f"{answers} numbers of the paper's tables (`searches_table`), so the code can search "
            "for the options: it reproduces and settles nothing."
        )
    return lines


def explanations(report: ReportData) -> list[str]:
    """Return the notes that say how to read the tables."""
    return [*_about_scores(report), *_about_comparisons(report), *_about_people(report)]


def _about_scores(report: ReportData) -> Iterator[str]:
    scores = report.scores
    yield from ABOUT_METHODS if on_methods(scores) else ABOUT_LEVELS
    if not report.benchmark:
        yield COMPARABILITY
    has_core_only = any(score.overall.outcomes[Level.REPRODUCED] for score in scores)
    if has_core_only:
        yield CORE_ONLY
    yield SHARES
    if has_core_only:
        yield "2/3 (1) means that 2 of 3 are reproduced, and 1 of these is robust."
    for score in with_difficulties(scores):
        yield from _about_choices(score)
    if any(score.samples > 1 for score in scores):
        yield SAMPLES


def _about_comparisons(report: ReportData) -> Iterator[str]:
    if any(score.spending.answers["cost_usd"] for score in report.scores):
        yield DOLLARS
    if any(score.overall.judged for score in report.scores):
        yield JUDGE
    if len(report.scores) > 1:
        yield PAIRS


def _about_choices(score: ModelScore) -> Iterator[str]:
    """Say how a model decided the altered choices, and how many open ones it settled."""
    if score.has_readings:
        shares = [f"{name} {score.reading(*readings).percent}" for name, readings in READ.items()]
        yield f"{score.name}: {', '.join(shares)} of the altered choices. Intervals count papers."
    if choices := score.open_choices:
        rows = f" of {ROWS[score.difficulty]}" if score.difficulty else ""
        settled = f"settled {score.settled().percent} of the open choices{rows}"
        guessing = f"guessing settles {percent(chance(choices))}"
        recited = f"reciting the published method {percent(reciting(choices))}"
        yield f"{score.name}: {settled}; {guessing}, {recited}. {CORRECTED}"


def _about_people(report: ReportData) -> Iterator[str]:
    """Yield notes on people's labels that were left out, and why."""
    agreement = report.agreement
    if agreement and agreement.without_majority:
        answers = plural(agreement.without_majority, "answer")
        yield f"People are split evenly on {answers}: left out of the majority."
    if agreement and agreement.unknown:
        labels = plural(len(agreement.unknown), "label is", "labels are")
        places = [f"{instance} by {model}" for instance, model, *_ in agreement.unknown]
        names = join_names(places, MAX_NAMED)
        yield f"{labels} for answers that these runs do not have: {names}."
    if agreement and agreement.ambiguous:
        labels = plural(agreement.ambiguous, "label names", "labels name")
        yield f"{labels} no setting or track, and the model answered in several: left out."


#: Header of the rows of `failures`.
FAILURES = ["instance", "model", "outcome", "why"]


def failures(
    path: Path, models: Collection[tuple[str, str, str]] | None = None
) -> Iterator[list[str]]:
    """Yield instance, model, outcome and first fault for each result that is not robust.

    Args:
        models: the `ModelScore.key`s to show; None for all.
    """
    for row in RunFolder(path).rows():
        model = row["model_name_or_path"]
        is_shown = models is None or (model, row["setting"], row["track"]) in models
        result = outcome(row["status"], row["core_status"])
        if is_shown and result != Level.ROBUST:
            reason = first_reason(row).partition("\n")[0]
            if row.get("memorised"):
                reason = f"{MEMORISED}: {reason}"
            word = WORDS.get(result, result)
            yield [row["instance_id"], model, word, reason[:200]]


def first_reason(row: ResultRow) -> str:
    """Return the first fault of a result row: the case that decided its outcome, and why."""
    is_core = row["core_status"] != Status.PASSED
    status = row["core_status"] if is_core else row["status"]
    for case in row["cases"]:
        if case["status"] == status and (case["core"] or not is_core):
            return f"{case['name']}, seed {case['seed']}: {case['detail']}"
    return str(row["detail"])
