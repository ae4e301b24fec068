"""The parts of a report in any format: its tables, its notes, and the answers that did not pass."""

import itertools
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from lmrbench_data.base.proportions import percent
from lmrbench_data.base.text import join_names, plural
from lmrbench_data.base.text_table import Table
from lmrbench_data.dataset.result_rows import ResultRow
from lmrbench_data.tasks.experiments import ROWS
from lmrbench_data.tasks.guessing import chance, reciting

from ..runs.folder import RunFolder
from ..verdict.levels import Level, outcome
from ..verdict.verdict import Status
from . import score_tables
from .data import ReportData
from .paired import MIN_SHARED
from .scores import READ, ModelScore, only_difficulty, with_difficulties

#: Largest number of names in one note.
MAX_NAMED = 10
#: What the levels mean.
ABOUT_LEVELS = (
    "An answer reproduces the paper if every core case passes (these follow from paper and repository alone), and "
    "is robust if every case passes (including those of the contract).",
    "Models are ranked by reproduced in the paper track, where they do not see the contract, and by robust in the "
    "contract track, where they do, and where the track is unstated.",
)
#: The same for methods.
ABOUT_METHODS = (
    "An answer reproduces a method if every case passes: those of its functions, and the experiments, which run them "
    "together.",
    "A function passes if every case that tests it passes; one that calls another may fail because of it. The shares "
    "of functions and experiments are of all answers but infra errors, and their intervals count the answers to one "
    "method as one.",
)
#: Printed with all scores on LMR-Bench's own tasks.
COMPARABILITY = (
    "LMR-Bench's repositories are compact re-implementations: its numbers cannot be compared with those of the "
    "LMR-BENCH paper."
)


def tables(report: ReportData) -> list[tuple[str, Table]]:
    """Return the titles and tables of a report, without empty ones."""
    scores = report.scores
    split = with_difficulties(scores)
    titled = [
        ("Unit-test accuracy", score_tables.summary_table(split)),
        ("Outcomes", score_tables.outcome_table(split)),
        ("Functions of methods", score_tables.method_table(split)),
        ("Altered choices", score_tables.reading_table(scores)),
        (f"Open choices{only_difficulty(scores)}", score_tables.settled_table(split)),
        ("Share of graded answers", score_tables.graded_table(split)),
        ("pass@k", score_tables.pass_at_table(split)),
        ("Judge", score_tables.judge_table(scores)),
        ("Tests and judge", score_tables.cross_table(scores)),
        ("Cost, tokens and time per answer", score_tables.spending_table(split)),
        ("By category", score_tables.category_table(scores)),
        ("By instance", score_tables.instance_table(scores)),
        *(
            (f"Paired comparison: {level}", score_tables.pair_table(report.pairs, level))
            for level in score_tables.levels(scores)
        ),
        *(score_tables.agreement_tables(report.agreement) if report.agreement else []),
    ]
    return [(title, table) for title, table in titled if table[1]]


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
    if lost := sum(score.overall.votes_lost for score in report.scores):
        what = "category rests" if lost == 1 else "categories rest"
        lines.append(
            f"{lost} {what} on fewer votes than the judge was asked for: the other requests failed."
        )
    if searching := sum(score.searching for score in report.scores):
        what = f"{plural(searching, 'answer')} {'holds' if searching == 1 else 'hold'} numbers of the paper's tables"
        lines.append(
            f"{what} (`searches_table`), so the code can search for the options: it reproduces and settles nothing."
        )
    pairs = (
        pair for pair in itertools.combinations(report.scores, 2) if pair[0].track == pair[1].track
    )
    most = max((len(one.scope.keys() & other.scope.keys()) for one, other in pairs), default=0)
    if 0 < most < MIN_SHARED:
        lines.append(
            f"no paired comparison: models share {plural(most, 'instance')}, fewer than {MIN_SHARED}."
        )
    return lines


def explanations(report: ReportData) -> list[str]:
    """Return the notes that say how to read the tables."""
    scores = report.scores
    lines = [*(ABOUT_METHODS if score_tables.on_methods(scores) else ABOUT_LEVELS)]
    if not report.benchmark:
        lines.append(COMPARABILITY)
    if any(score.overall.outcomes[Level.REPRODUCED] for score in scores):
        lines.append(
            "Core only: reproduced but not robust. Other outcomes are the status of the core cases."
        )
    lines.append(
        "Shares are of all instances in the scope; an instance without a prediction counts as not passed. Graded "
        "answers exclude missing predictions and infra errors. Intervals are Wilson's 95% intervals."
    )
    if any(
        tally.reproduced != tally.robust for score in scores for tally in score.categories.values()
    ):
        lines.append("2/3 (1) means that 2 of 3 are reproduced, and 1 of these is robust.")
    lines += _about_readings(with_difficulties(scores))
    if any(score.samples > 1 for score in scores):
        lines.append(
            "With several samples, a share is the mean over samples, and the n of its interval, as of those of pass@k, "
            "is the number of instances. pass@k is the unbiased estimate of the chance that one of k samples succeeds."
        )
    answered = {name for score in scores for name in score.answers}
    unanswered = sorted({name for score in scores for name in score.scope} - answered)
    if unanswered:
        lines.append(
            f"No model answered {plural(len(unanswered), 'instance')}: {join_names(unanswered, MAX_NAMED)}."
        )
    if any(score.spending.answers["cost_usd"] for score in scores):
        lines.append(
            "Dollars per reproduced or robust instance: the cost of all answers, including wrong ones, divided by the "
            "number of reproduced or robust answers. Answers without a stated cost are left out of both. Dollars are "
            "an upper bound if the server read tokens from a cache whose price was not stated."
        )
    if any(score.overall.judged for score in scores):
        lines.append(
            "Judge: CC completely correct, LC logic correct with subtle errors, LI incorrect logic. Shares are of all "
            "answers, including missing, malformed and too long ones, without judge errors and answers that the judge "
            "was not asked about."
        )
    if report.pairs:
        lines.append(
            "p is the two-sided p of the exact paired permutation test on each instance's share of samples; with one "
            "sample each, this is McNemar's exact test. Instances with an infra error are left out. Points are the "
            "difference of the shares. Holm's p is adjusted for the number of comparisons at a level. Models of two "
            f"tracks, or with fewer than {MIN_SHARED} shared instances, are not compared."
        )
    return [*lines, *_about_people(report)]


def _about_readings(scores: Sequence[ModelScore]) -> Iterator[str]:
    """Say in a line per model how it decided the altered choices, and how many open ones it settled."""
    for score in scores:
        if score.has_readings:
            shares = ", ".join(
                f"{name} {score.reading(*readings).percent}" for name, readings in READ.items()
            )
            yield f"{score.name}: {shares} of the altered choices. Intervals count papers."
        if choices := score.open_choices:
            rows = f" of {ROWS[score.difficulty]}" if score.difficulty else ""
            yield (
                f"{score.name}: settled {score.settled().percent} of the open choices{rows}; guessing settles "
                f"{percent(chance(choices))}, reciting the published method {percent(reciting(choices))}. Corrected "
                "is 0 for the larger of both, and 1 for all."
            )


def _about_people(report: ReportData) -> Iterator[str]:
    """Yield notes on people's labels that were left out, and why."""
    agreement = report.agreement
    if agreement and agreement.without_majority:
        yield f"People are split evenly on {plural(agreement.without_majority, 'answer')}: left out of the majority."
    if agreement and agreement.unknown:
        answers = [f"{instance} by {model}" for instance, model, *_ in agreement.unknown]
        what = plural(len(answers), "label is", "labels are")
        yield f"{what} for answers that these runs do not have: {join_names(answers, MAX_NAMED)}."
    if agreement and agreement.ambiguous:
        what = plural(agreement.ambiguous, "label names", "labels name")
        yield f"{what} no setting or track, and the model answered in several: left out."


#: Header of the rows of `failures`.
FAILURES = ["instance", "model", "outcome", "why"]


def failures(
    path: Path, models: Collection[tuple[str, str, str]] | None = None
) -> Iterator[list[str]]:
    """Yield instance, model, outcome and first fault for each result that is not robust, of these `ModelScore.key`s."""
    for row in RunFolder(path).rows():
        if (
            models is not None
            and (row["model_name_or_path"], row["setting"], row["track"]) not in models
        ):
            continue
        if (name := outcome(row["status"], row["core_status"])) != Level.ROBUST:
            reason = first_reason(row).partition("\n")[0]
            if row.get("memorised"):
                reason = f"passes the published seeds and fails fresh ones (memorised outputs?): {reason}"
            yield [
                row["instance_id"],
                row["model_name_or_path"],
                score_tables.WORDS.get(name, name),
                reason[:200],
            ]


def first_reason(row: ResultRow) -> str:
    """Return the first fault of a result row: the case that decided its outcome, with its difference."""
    core = row["core_status"] != Status.PASSED
    status = row["core_status"] if core else row["status"]
    decided = (
        case for case in row["cases"] if case["status"] == status and (case["core"] or not core)
    )
    case = next(decided, None)
    return f"{case['name']}, seed {case['seed']}: {case['detail']}" if case else str(row["detail"])
