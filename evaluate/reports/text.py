"""A report as Markdown, JSON and CSV."""

import csv
import dataclasses
import io
import itertools
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...text import counted, one_line
from .agreement import Agreement
from .levels import Level, reaches
from .sections import failures, notes, tables

if TYPE_CHECKING:
    from .report import Report

#: Rows of the table of failures in Markdown.
MAX_REASONS = 100


def render_markdown(report: "Report") -> str:
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
            lines.append(
                f"  - {counted(len(bad), 'prediction row')} could not be evaluated; see `bad_rows` in run.json"
            )
    for title, table in tables(report):
        lines += ["", f"## {title}", "", *_markdown_table(*table)]
    reasons = (reason for path in report.paths for reason in failures(path))
    if shown := list(itertools.islice(reasons, MAX_REASONS)):
        lines += ["", "## What did not pass", "", *_markdown_table(["instance", "model", "outcome", "why"], shown)]
        if more := sum(1 for _ in reasons):
            lines += ["", f"{more} more are in results.jsonl."]
    for note in notes(report):
        lines += ["", note]
    return "\n".join(lines) + "\n"


def report_dict(report: "Report") -> dict[str, Any]:
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


def render_csv(report: "Report") -> str:
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
                writer.writerow([*map(_cell, names), answer.sample, *found])
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
