"""A report as Markdown, JSON and CSV."""

import csv
import dataclasses
import io
import itertools
from collections.abc import Mapping
from typing import Any

from ...text import counted
from ..levels import Level, reaches
from ..runs.standing import has_scripts, is_imported
from .agreement import Agreement
from .content import Content
from .plain import csv_cell, markdown_table
from .plain import escape as _escape
from .sections import failures, notes, tables

#: Rows of the table of failures in Markdown.
MAX_REASONS = 100


def render_markdown(report: Content) -> str:
    """The report as Markdown."""
    lines = [f"# {_escape(report.title)}", ""]
    for facts in report.runs:
        lines.append(f"- run {_escape(facts['run_id'])}: {_run_line(facts)}")
        if bad := facts.get("bad_rows"):
            lines.append(
                f"  - {counted(len(bad), 'prediction row')} could not be evaluated; see `bad_rows` in run.json"
            )
    for title, table in tables(report):
        lines += ["", f"## {title}", "", *markdown_table(*table)]
    reasons = (reason for path in report.paths for reason in failures(path))
    if shown := list(itertools.islice(reasons, MAX_REASONS)):
        lines += ["", "## What did not pass", "", *markdown_table(["instance", "model", "outcome", "why"], shown)]
        if more := sum(1 for _ in reasons):
            lines += ["", f"{more} more are in results.jsonl."]
    for note in notes(report):
        lines += ["", note]
    return "\n".join(lines) + "\n"


def _run_line(facts: Mapping[str, Any]) -> str:
    """What a run was evaluated on, and how."""
    dataset = (
        f"dataset {_escape(facts['dataset'])} version {_escape(facts['benchmark_version'])} "
        f"({_escape(facts['dataset_sha256'][:12])})"
    )
    incomplete = "" if facts.get("complete") else ", **incomplete**"
    if is_imported(facts):
        return f"{dataset}, imported, not official{incomplete}"
    official = "" if facts["official_sandbox"] else " (no isolation: not for a leaderboard)"
    if has_scripts(facts):
        official = " (verdicts read from logs: not for a leaderboard)"
    seeds = f", {facts['fresh_seed_count']} fresh seeds" if facts["fresh_seed_count"] else ""
    return (
        f"{dataset}, sandbox {_escape(facts['sandbox'])}{official}{seeds}, "
        f"harness {_escape(facts['harness_version'])}, {_escape(facts['started_at'])}{incomplete}"
    )


def report_dict(report: Content) -> dict[str, Any]:
    """The same numbers for machines."""
    agreement = report.agreement
    return {
        "runs": report.runs,
        "scores": [score.as_dict() for score in report.scores],
        "pairs": [{**dataclasses.asdict(pair), "instances": pair.instances} for pair in report.pairs],
        "agreement": agreement and _agreement_dict(agreement),
        "calibrations": [item.as_dict() for item in report.calibrations],
        "familiarity": report.familiarity,
        "bad_annotations": [str(bad) for bad in report.bad_annotations],
    }


def _agreement_dict(agreement: Agreement) -> dict[str, Any]:
    confusion = [{"people": a, "judge": b, "answers": n} for (a, b), n in sorted(agreement.confusion.items())]
    return {**vars(agreement), "pairs": [vars(pair) for pair in agreement.pairs], "confusion": confusion}


def render_csv(report: Content) -> str:
    """One row for each answer, for a spreadsheet or a data frame."""
    header = ["run", "model_name_or_path", "setting", "track", "instance_id", "category", "sample"]
    header += [*map(str, Level), "status", "core_status", "judge"]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    for score in report.scores:
        for instance, answers in sorted(score.answers.items()):
            for answer in answers:
                names = score.run, *score.key, instance, score.scope[instance]
                levels = (int(reaches(answer.outcome, level)) for level in Level)
                found = *levels, answer.status, answer.core_status, answer.judged or ""
                writer.writerow([*map(csv_cell, names), answer.sample, *found])
    return out.getvalue()
