"""What a report says, whatever it is written as: its tables, its notes, and what did not pass."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ...rows import ResultRow
from ..runs.folder import read_results
from ..verdict import Status
from .levels import Level, outcome
from .tables import (
    WORDS,
    Table,
    agreement_tables,
    category_table,
    instance_table,
    judge_table,
    outcome_table,
    pair_table,
    summary_table,
)

if TYPE_CHECKING:
    from .report import Report


def tables(report: "Report") -> list[tuple[str, Table]]:
    """Titles and tables of the report, those with nothing to say left out."""
    found = [
        ("Unit-test accuracy", summary_table(report.scores)),
        ("Outcomes", outcome_table(report.scores)),
        ("Judge", judge_table(report.scores)),
        ("By category", category_table(report.scores)),
        ("By instance", instance_table(report.scores)),
        ("Paired comparison", pair_table(report.pairs)),
        *(agreement_tables(report.agreement) if report.agreement else []),
    ]
    optional = ("Judge", "Paired comparison")
    return [(title, table) for title, table in found if title not in optional or table[1]]


def notes(report: "Report") -> list[str]:
    """What a reader has to know to read the tables."""
    lines = [
        "An answer reproduces the paper if every core case passes (what follows from paper and repository alone), and "
        "is robust if every case passes (those of the contract, too).",
        "Models are ranked by reproduced in the paper track, where they see no contract; by robust in the contract "
        "track, where they do; and by robust where the track is unstated.",
    ]
    if any(score.overall.outcomes[Level.REPRODUCED] for score in report.scores):
        lines.append("`core only` is reproduced and not robust. Other outcomes tell what happened in the core cases.")
    lines.append(
        "Shares are of all instances in the scope; one without prediction counts as not passed. Of graded leaves out "
        "missing predictions and infra errors. Intervals are Wilson's."
    )
    if any(score.samples > 1 for score in report.scores):
        lines.append(
            "With several samples, shares are their mean, the interval's n is the number of instances, @k is the "
            "unbiased estimate of pass@k, and 2/3 (1) means: of 3 samples 2 reproduce, and 1 of these is robust."
        )
    if any(score.overall.judged for score in report.scores):
        lines.append(
            "Judge: CC completely correct, LC logic correct with subtle errors, LI incorrect logic; shares are of all "
            "answers, missing, malformed and too long ones included, except judge errors and those not asked about."
        )
    if report.pairs:
        lines.append(
            "p is of McNemar's exact test on the instances that both models could be graded on (the first sample of "
            "each); Holm's adjusts it for the number of comparisons."
        )
    if report.agreement and report.agreement.without_majority:
        lines.append(f"People are split evenly on {report.agreement.without_majority} answers, left out of majorities.")
    if report.agreement and report.agreement.unknown:
        lines.append(f"{report.agreement.unknown} annotations are of answers that these runs do not have.")
    if report.agreement and report.agreement.ambiguous:
        lines.append(
            f"{report.agreement.ambiguous} annotations name no setting or track, and their models answered in several: "
            "left out."
        )
    if report.bad_annotations:
        lines.append(f"{len(report.bad_annotations)} rows of annotations could not be read.")
    return lines


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
