"""What a report says, whatever it is written as: its tables, its notes, and what did not pass."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from ...rows import ResultRow
from ...text import counted
from ..levels import Level, outcome
from ..runs.results import read_results
from ..runs.standing import has_scripts, is_imported
from ..verdict import Status
from .calibration_tables import calibration_table
from .content import Content
from .paired import MCNEMAR, PERMUTATION
from .scores import ModelScore
from .tables import (
    WORDS,
    Table,
    agreement_tables,
    category_table,
    cross_table,
    graded_table,
    instance_table,
    judge_table,
    outcome_table,
    pair_table,
    pass_at_table,
    spending_table,
    summary_table,
)

#: So many names stand in one note.
MAX_NAMED = 10
#: Said wherever scores on our own tasks are.
COMPARABILITY = (
    "LMR-Bench's repositories are compact re-implementations: its numbers are not comparable with those of the "
    "LMR-BENCH paper."
)


def tables(report: Content) -> list[tuple[str, Table]]:
    """Titles and tables of the report, those with nothing to say left out."""
    scores = report.scores
    found = [
        ("Unit-test accuracy", summary_table(scores)),
        ("Outcomes", outcome_table(scores)),
        ("Of what could be graded", graded_table(scores)),
        ("pass@k", pass_at_table(scores)),
        ("Judge", judge_table(scores)),
        ("The judge's calibration", calibration_table(report.calibrations)),
        ("Tests and judge", cross_table(scores)),
        ("What an answer took", spending_table(scores)),
        ("By category", category_table(scores)),
        ("By instance", instance_table(scores)),
        *(
            (f"Paired comparison: {level}", pair_table([pair for pair in report.pairs if pair.level is level]))
            for level in Level
        ),
        *(agreement_tables(report.agreement) if report.agreement else []),
    ]
    return [(title, table) for title, table in found if table[1]]


def notes(report: Content) -> list[str]:
    """What a reader has to know to read the tables."""
    scores, others = report.scores, list(_about_others(report))
    lines = [
        *others,
        "An answer reproduces the paper if every core case passes (what follows from paper and repository alone), and "
        "is robust if every case passes (those of the contract, too).",
        "Models are ranked by reproduced in the paper track, where they see no contract; by robust in the contract "
        "track, where they do; and by robust where the track is unstated.",
    ]
    if not others and not report.benchmark:
        lines.append(COMPARABILITY)
    if any(score.overall.outcomes[Level.REPRODUCED] for score in scores):
        lines.append("Core only: reproduced and not robust. Other outcomes tell what happened in the core cases.")
    lines.append(
        "Shares are of all instances in the scope; one without prediction counts as not passed. Graded leaves out "
        "missing predictions and infra errors. Intervals are Wilson's."
    )
    if any(tally.reproduced != tally.robust for score in scores for tally in score.categories.values()):
        lines.append("2/3 (1) means: 2 of 3 are reproduced, and 1 of these is robust.")
    if any(score.samples > 1 for score in scores):
        lines.append(
            "With several samples, shares are their mean, the interval's n is the number of instances, and pass@k is "
            "the unbiased estimate."
        )
    unanswered = sorted({name for score in scores for name in score.scope if not _answered(scores, name)})
    if unanswered:
        named = ", ".join(unanswered[:MAX_NAMED]) + ("" if len(unanswered) <= MAX_NAMED else ", ...")
        lines.append(f"Nobody answered {counted(len(unanswered), 'instance')}: {named}.")
    if any(score.spending.answers["cost_usd"] for score in scores):
        lines.append(
            "Dollars per reproduced or robust instance: the cost of all answers, wrong ones too, by the number of "
            "answers that are; answers that do not name their cost are left out of both."
        )
    if any(score.overall.judged for score in scores):
        lines.append(
            "Judge: CC completely correct, LC logic correct with subtle errors, LI incorrect logic; shares are of all "
            "answers, missing, malformed and too long ones included, except judge errors and those not asked about."
        )
    if lost := sum(score.overall.votes_lost for score in scores):
        what = "category rests" if lost == 1 else "categories rest"
        lines.append(f"{lost} {what} on fewer votes than the judge was asked for: the others could not be had.")
    if report.calibrations:
        lines.append(
            "Calibration: what this judge said where it is known what is right, by people's labels or on variants of "
            "the references. CC found: its share of CC among answers that are; not CC found: its share of LC and LI "
            "among all others."
        )
    if report.pairs:
        tests = {pair.test for pair in report.pairs}
        said = {
            MCNEMAR: "McNemar's exact test, where both have one sample",
            PERMUTATION: "the exact paired permutation test on each instance's share of samples, where one has several",
        }
        lines.append(
            f"p is two-sided, of {'; or of '.join(said[test] for test in said if test in tests)}. Instances that met "
            "an infra error are left out. Points are the difference of the shares. Holm's p is adjusted for the number "
            "of comparisons at a level."
        )
    return [*lines, *report.familiarity, *_about_people(report)]


def _about_others(report: Content) -> Iterator[str]:
    """What verdicts stand for that were not reached by comparing outputs."""
    if any(map(is_imported, report.runs)):
        yield (
            "Imported results: verdicts are those of others, by their own tests and rule (see run.json). "
            "They are not official, have one level only, and cannot be compared with runs on LMR-Bench. INFRA: no "
            "verdict was published."
        )
    elif any(map(has_scripts, report.runs)):
        yield (
            "Verdicts are read from the logs of test scripts, which tested code can write: they are not official, have "
            "one level only, and cannot be compared with runs on LMR-Bench. INFRA: the script does not pass the "
            "golden file here, so nobody is graded."
        )


def _answered(scores: Sequence[ModelScore], instance: str) -> bool:
    return any(instance in score.answers for score in scores)


def _about_people(report: Content) -> Iterator[str]:
    """What became of people's labels."""
    agreement = report.agreement
    if agreement and agreement.without_majority:
        yield f"People are split evenly on {counted(agreement.without_majority, 'answer')}, left out of majorities."
    if agreement and agreement.unknown:
        answers = [f"{instance} by {model}" for instance, model, *_ in agreement.unknown]
        named = ", ".join(answers[:MAX_NAMED]) + ("" if len(answers) <= MAX_NAMED else ", ...")
        what = counted(len(answers), "label of people is", "labels of people are")
        yield f"{what} of answers that these runs do not have: {named}."
    if agreement and agreement.ambiguous:
        what = counted(agreement.ambiguous, "label names", "labels name")
        yield f"{what} no setting or track, and the model answered in several: left out."
    if report.bad_annotations:
        yield f"{counted(len(report.bad_annotations), 'row')} of labels could not be read."


def failures(path: Path) -> Iterator[list[str]]:
    """For each result that is not robust: instance, model, outcome and the first thing that went wrong."""
    for row in read_results(path):
        if (name := outcome(row["status"], row["core_status"])) != Level.ROBUST:
            reason = first_reason(row).partition("\n")[0]
            if row.get("memorised"):
                reason = f"passes the published seeds, fails fresh ones: memorised outputs? {reason}"
            yield [row["instance_id"], row["model_name_or_path"], WORDS.get(name, name), reason[:200]]


def first_reason(row: ResultRow) -> str:
    """The first thing that went wrong in a result row: the case that decided its outcome, with its difference."""
    core = row["core_status"] != Status.PASSED
    status = row["core_status"] if core else row["status"]
    decided = (case for case in row["cases"] if case["status"] == status and (case["core"] or not core))
    case = next(decided, None)
    return f"{case['name']}, seed {case['seed']}: {case['detail']}" if case else str(row["detail"])
