"""Write a report as Markdown, JSON or CSV."""

import csv
import dataclasses
import io
import itertools
from collections.abc import Mapping
from typing import Any

from lmrbench_data.base.text import counted
from lmrbench_data.base.text_table import csv_cell, escape, markdown_table

from ..verdict.levels import Level, reaches
from .agreement import Agreement
from .paired import Pair
from .report_data import ReportData
from .sections import failures, notes, tables

#: Largest number of rows in the Markdown table of failures.
MAX_REASONS = 100


def render_markdown(report: ReportData) -> str:
    """Return the report as Markdown."""
    lines = [f"# {escape(report.title)}", ""]
    for facts in report.runs:
        lines.append(f"- run {escape(facts['run_id'])}: {_run_line(facts)}")
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
    """Return dataset, sandbox and harness of a run as one line."""
    dataset = (
        f"dataset {escape(facts['dataset'])} version {escape(facts['benchmark_version'])} "
        f"({escape(facts['dataset_sha256'][:12])})"
    )
    incomplete = "" if facts.get("complete") else ", **incomplete**"
    official = "" if facts["official_sandbox"] else " (no isolation: not for a leaderboard)"
    seeds = f", {facts['fresh_seed_count']} fresh seeds" if facts["fresh_seed_count"] else ""
    return (
        f"{dataset}, sandbox {escape(facts['sandbox'])}{official}{seeds}, "
        f"harness {escape(facts['harness_version'])}, {escape(facts['started_at'])}{incomplete}"
    )


def report_dict(report: ReportData) -> dict[str, Any]:
    """Return all numbers of the report as JSON types."""
    agreement = report.agreement
    return {
        "runs": report.runs,
        "scores": [score.as_dict() for score in report.scores],
        "pairs": [_pair_dict(pair) for pair in report.pairs],
        "agreement": agreement and _agreement_dict(agreement),
        "bad_annotations": [str(bad) for bad in report.bad_annotations],
    }


def _pair_dict(pair: Pair) -> dict[str, Any]:
    facts = {**dataclasses.asdict(pair), "instances": pair.instances}
    del facts["interval"]
    return {**facts, "ci95": [round(bound, 4) for bound in pair.interval]}


def _agreement_dict(agreement: Agreement) -> dict[str, Any]:
    confusion = [{"people": a, "judge": b, "answers": n} for (a, b), n in sorted(agreement.confusion.items())]
    return {**vars(agreement), "pairs": [pair.as_dict() for pair in agreement.pairs], "confusion": confusion}


def render_csv(report: ReportData) -> str:
    """Return one CSV row per answer."""
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
