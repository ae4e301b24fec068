"""The report of one or more runs: scores, paired comparisons and agreement, as Markdown, JSON and CSV.

Everything is computed from the rows of the run folders; nothing is read from an earlier report.
"""

import csv
import dataclasses
import io
import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...text import one_line
from ..prediction_files import BadRow
from ..runs.folder import read_facts, read_results
from ..verdict import Status
from .agreement import Agreement, measure_agreement
from .annotations import Annotation
from .paired import Pair, compare_pairs
from .scores import ModelScore, score_runs
from .tables import (
    Table,
    agreement_tables,
    category_table,
    column,
    instance_table,
    judge_table,
    pair_table,
    summary_table,
)

#: Rows of the table of failures in Markdown.
MAX_REASONS = 100
#: So many models are compared two by two.
MAX_COMPARED = 12


@dataclass(frozen=True)
class Report:
    """What a report says, whatever it is written as."""

    paths: Sequence[Path]
    runs: list[dict[str, Any]]
    """run.json of each."""
    scores: list[ModelScore]
    pairs: list[Pair]
    judge_model: str | None = None
    """Whose judgements count; the last one's if None."""
    agreement: Agreement | None = None
    bad_annotations: list[BadRow] = field(default_factory=list)


def make_report(
    paths: Sequence[Path],
    *,
    judge_model: str | None = None,
    annotations: Sequence[Annotation] | None = None,
    bad_annotations: Sequence[BadRow] = (),
) -> Report:
    """Read run folders and compute all that a report says.

    Args:
        judge_model: whose judgements count, if a run was judged by several; the last one by default.
        annotations: what people said, to be compared with the judge.

    Raises:
        InputError: no run folder, or a damaged one.
    """
    scores = score_runs(paths, judge_model)
    names = [column(score, scores) for score in scores]
    pairs = compare_pairs(scores, names) if len(scores) <= MAX_COMPARED else []
    agreement = measure_agreement(annotations, scores) if annotations is not None else None
    facts = [read_facts(path) for path in paths]
    return Report(paths, facts, scores, pairs, judge_model, agreement, list(bad_annotations))


def tables(report: Report) -> list[tuple[str, Table]]:
    """Titles and tables of the report, those with nothing to say left out."""
    found = [
        ("Unit-test accuracy", summary_table(report.scores)),
        ("Judge", judge_table(report.scores)),
        ("By category", category_table(report.scores)),
        ("By instance", instance_table(report.scores)),
        ("Paired comparison", pair_table(report.pairs)),
        *(agreement_tables(report.agreement) if report.agreement else []),
    ]
    optional = ("Judge", "Paired comparison")
    return [(title, table) for title, table in found if title not in optional or table[1]]


def notes(report: Report) -> list[str]:
    """What a reader has to know to read the tables."""
    lines = [
        "Accuracy is the share of all instances in the scope whose every case passed; an instance without prediction "
        "counts as not passed. Of graded leaves out missing predictions and infra errors. Intervals are Wilson's."
    ]
    if any(score.samples > 1 for score in report.scores):
        lines.append(
            "With several samples, accuracy is their mean, the interval's n is the number of instances, and pass@k is "
            "the unbiased estimate."
        )
    if any(score.overall.judged for score in report.scores):
        lines.append(
            "Judge: CC completely correct, LC logic correct with subtle errors, LI incorrect logic; shares are of the "
            "answers that have a category."
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
    if report.bad_annotations:
        lines.append(f"{len(report.bad_annotations)} rows of annotations could not be read.")
    return lines


def render_markdown(report: Report) -> str:
    """The report as Markdown."""
    lines = ["# LMR-Bench report", ""]
    for facts in report.runs:
        official = "" if facts["official_sandbox"] else " (no isolation: not for a leaderboard)"
        seeds = f", {facts['fresh_seed_count']} fresh seeds" if facts["fresh_seed_count"] else ""
        lines.append(
            f"- run {_escape(facts['run_id'])}: dataset {_escape(facts['dataset'])} version "
            f"{_escape(facts['benchmark_version'])} ({_escape(facts['dataset_sha256'][:12])}), "
            f"sandbox {_escape(facts['sandbox'])}{official}{seeds}, harness {_escape(facts['harness_version'])}, "
            f"{_escape(facts['started_at'])}" + ("" if facts.get("complete") else ", **incomplete**")
        )
        if bad := facts.get("bad_rows"):
            lines.append(f"  - {len(bad)} prediction rows could not be evaluated; see `bad_rows` in run.json")
    for title, table in tables(report):
        lines += ["", f"## {title}", "", *_markdown_table(*table)]
    reasons = (reason for path in report.paths for reason in failures(path))
    if shown := list(itertools.islice(reasons, MAX_REASONS)):
        lines += ["", "## What did not pass", "", *_markdown_table(["instance", "model", "status", "why"], shown)]
        if more := sum(1 for _ in reasons):
            lines += ["", f"{more} more are in results.jsonl."]
    for note in notes(report):
        lines += ["", note]
    return "\n".join(lines) + "\n"


def failures(path: Path) -> Iterator[list[str]]:
    """For each result that did not pass: instance, model, status and the first thing that went wrong."""
    for row in read_results(path):
        if row["status"] != Status.PASSED:
            reason = first_reason(row).partition("\n")[0][:200]
            yield [row["instance_id"], row["model_name_or_path"], row["status"], reason]


def first_reason(row: dict[str, Any]) -> str:
    """The first thing that went wrong in a result row: the case that decided its status, with its difference."""
    case = next((case for case in row["cases"] if case["status"] == row["status"]), None)
    return f"{case['name']}, seed {case['seed']}: {case['detail']}" if case else str(row["detail"])


def report_dict(report: Report) -> dict[str, Any]:
    """The same numbers for machines."""
    agreement = report.agreement
    return {
        "runs": report.runs,
        "scores": [score.as_dict() for score in report.scores],
        "pairs": [{**dataclasses.asdict(pair), "instances": pair.instances} for pair in report.pairs],
        "agreement": agreement and _agreement_dict(agreement),
        "bad_annotations": [str(bad) for bad in report.bad_annotations],
    }


def _agreement_dict(agreement: Agreement) -> dict[str, Any]:
    confusion = [{"people": a, "judge": b, "answers": n} for (a, b), n in sorted(agreement.confusion.items())]
    return {**vars(agreement), "pairs": [vars(pair) for pair in agreement.pairs], "confusion": confusion}


def render_csv(report: Report) -> str:
    """One row for each answer, for a spreadsheet or a data frame."""
    header = ("run", "model_name_or_path", "setting", "instance_id", "category", "sample", "status", "judge")
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    for score in report.scores:
        for instance, answers in sorted(score.answers.items()):
            for answer in answers:
                names = map(_cell, (score.run, score.model, score.setting, instance, score.scope[instance]))
                writer.writerow([*names, answer.sample, answer.status, answer.judged or ""])
    return out.getvalue()


def _cell(text: str) -> str:
    """A cell that no spreadsheet takes for a formula, whatever a model is called."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text


def _markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    table = [f"| {' | '.join(map(_escape, cells))} |" for cells in (header, *rows)]
    return [table[0], "|" + "---|" * len(header), *table[1:]]


def _escape(text: str) -> str:
    """One line of plain text. Names and messages are whatever a model says: they must not become markup."""
    return re.sub(r"([\\`*_\[\]|<>~&$])", r"\\\1", one_line(text))
