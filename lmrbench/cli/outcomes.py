"""Outcomes of long work as text, JSON and exit status: reports, answers of models, judgements."""

import shlex
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from lmrbench_data.base.text import plural
from lmrbench_data.dataset.load import EMBEDDED
from lmrbench_data.loader import FUNCTION

from .output import emit, print_err

if TYPE_CHECKING:
    from lmrbench_data.chat.jobs import JobSummary
    from lmrbench_evaluate.judge.asking import JudgeSummary
    from lmrbench_evaluate.reports.report import Report
    from lmrbench_evaluate.reports.text_table import Table

    from ..api.run import Run
    from ..generation.answer_log import AnswerSummary

    Part = str | tuple[str, Table]


def report_text(report: "Report", folder: Path | None = None) -> "list[Part]":
    """Return tables and warnings of a report, the scores last, and the files in `folder`."""
    from lmrbench_evaluate.reports.sections import tables, warnings

    if not report.scores:
        return ["no results yet"]
    scores, *others = tables(report)
    parts: list[Part] = [*others, *(f"warning: {warning}" for warning in warnings(report)), scores]
    if folder:
        parts.append(f"results: {folder}/results.jsonl\nreport:  {folder}/report.md")
    return parts


def print_run(run: "Run", as_json: bool) -> None:
    """Print the report of an evaluation and the missing parts of its run; exit with its status."""
    summary = run.summary
    assert summary is not None
    report = run.report()
    emit(report.to_dict(), as_json, *report_text(report, folder=run.path))
    if summary.stopped:
        print_err(f"incomplete: stopped after repeated infrastructure failures ({summary.stopped})")
    if summary.infra_errors:
        failed = plural(summary.infra_errors, "infra error")
        print_err(f"incomplete: {failed}; re-run the command to retry")
    if summary.stopped or summary.infra_errors:
        raise typer.Exit(3)
    if summary.bad_rows:
        bad = plural(len(summary.bad_rows), "prediction row")
        print_err(f"{bad} could not be evaluated; all are listed in {summary.path}/run.json")
        raise typer.Exit(1)


def answers_dict(out: Path, summary: "AnswerSummary") -> dict[str, Any]:
    """Return the JSON of a command that asked for answers."""
    return {"out": str(out), **vars(summary), "complete": summary.complete}


def evaluate_command(predictions: Path, config: str = FUNCTION, dataset: str = EMBEDDED) -> str:
    """Return the command that evaluates predictions."""
    words = ["lmrbench", "evaluate", str(predictions)]
    if config != FUNCTION:
        words += ["--config", config]
    if dataset != EMBEDDED:
        words += ["--dataset", dataset]
    return shlex.join(words)


def answers_text(
    out: Path, summary: "AnswerSummary", what: str, command: str, counts: Mapping[str, int]
) -> "list[Part]":
    """Return the numbers of answers, and their cost.

    Args:
        counts: number by name; the first is that of this call.
    """
    numbers = ", ".join(f"{number} {name}" for name, number in counts.items())
    tokens = f"{summary.input_tokens:,} in, {summary.output_tokens:,} out"
    parts: list[Part] = [
        f"{what}: {numbers}; {summary.kept} from earlier calls",
        f"tokens: {tokens}   cost: {summary.cost}",
    ]
    if summary.kept or next(iter(counts.values())):
        parts.append(f"predictions: {out}; evaluate them with `{command}`")
    return parts


def kept_in(file: Path, nouns: str) -> str:
    """Return the clause that says where the results of a job that ended early are, if any."""
    return f"{nouns} so far are in {file}" if file.exists() else f"there are no {nouns} so far"


def exit_status(summary: "JobSummary", what: str, kept: str, nouns: str = "") -> int:
    """Print what is missing, what is kept and how to resume; return the status.

    Args:
        what: what failed, as a noun such as "request".
    """
    if summary.stopped:
        print_err(f"incomplete: {summary.stopped}; {kept}")
    if summary.errors:
        failed = plural(summary.errors, what, nouns)
        print_err(f"incomplete: {failed} failed ({summary.first_error})")
    if summary.complete:
        return 0
    if summary.out_of_budget:
        print_err("raise the cost limit, or run without one, to resume")
    else:
        print_err("re-run the command to resume")
    return 3


def asking_lines(done: "JudgeSummary") -> "list[Part]":
    """Return the tokens, the cost and the sources of the replies to all questions."""
    cost = "unknown" if done.cost_usd is None else f"{done.cost_usd:.4f} USD"
    identical = f", {done.identical} for the reference's own code" if done.identical else ""
    return [
        f"tokens: {done.spent.input_tokens:,} in, {done.spent.output_tokens:,} out   cost: {cost}",
        f"questions: {done.asked} asked now, {done.kept} from earlier calls{identical}",
    ]


def asking_dict(done: "JudgeSummary") -> dict[str, Any]:
    """Return the JSON about all questions."""
    return {
        "prompt_version": done.judge.prompt_version,
        "base_url": done.judge.server,
        "asked": done.asked,
        "kept": done.kept,
        "identical": done.identical,
        "errors": done.errors,
        "cost_usd": done.cost_usd,
        "complete": done.complete,
        "stopped": done.stopped,
        "first_error": done.first_error,
        "input_tokens": done.spent.input_tokens,
        "output_tokens": done.spent.output_tokens,
    }


def asking_status(done: "JudgeSummary", what: str = "judgement", nouns: str = "judgements") -> int:
    """Print why answers have no opinion and how to resume; return the exit status."""
    if count := len(done.malformed):
        malformed = plural(count, "malformed answer is", "malformed answers are")
        print_err(f"{malformed} left out: there is no candidate function")
    for reason, count in sorted(Counter(done.not_judged.values()).items()):
        print_err(f"{plural(count, 'answer has', 'answers have')} no {what}: {reason}")
    return exit_status(done, what, f"{nouns} so far are kept", nouns)
