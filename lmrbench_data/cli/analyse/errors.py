"""`lmrbench analyse errors`: error classes of failed answers, by a model and by people."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lmrbench_evaluate.runs.settings import JudgeSettings

from ...base.settings import option
from ..options import options
from ..outcomes import exit_status, tokens_line
from ..output import Json, emit, print_err, progress_bar

if TYPE_CHECKING:
    from lmrbench_evaluate.judge.asking import JudgeSummary

    from ..outcomes import Part


@options(
    JudgeSettings,
    without=("votes",),
    model=option("", "Model to ask (default: show earlier diagnoses).", "--model", "-m"),
)
def errors(
    settings: JudgeSettings,
    labels: Annotated[
        Path | None,
        typer.Option("--labels", help="Human labels (.csv, .jsonl; column `error`), which take precedence."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Classify failed answers by the paper's error classes.

    The classes are those of the LMR-BENCH paper (Section 5.3): paper parsing, incomplete comprehension, code
    robustness, cross-file retrieval, policy.

    The model sees the judge's material and the report of the tests. Diagnoses are added to RUN/errors.jsonl one by one;
    re-run the command to resume.

    Example: lmrbench analyse errors runs/mine --model gpt-5 --labels people.csv
    """
    from lmrbench_evaluate.reports.annotations import read_annotations
    from lmrbench_evaluate.runs.folder import RunFolder

    from ...analyse.errors.ask import FILE, ask_why
    from ...analyse.errors.diagnosis import COLUMN
    from ...analyse.errors.error_analysis import analyse_errors
    from ...base.errors import InputError

    run, model = settings.run, settings.model
    _ = RunFolder(run).facts  # fails if there is no run
    annotations, bad = read_annotations(labels, COLUMN) if labels else ([], [])
    for row in bad:
        print_err(f"bad row: {row}")
    summary = None
    if model:
        with progress_bar("asking", shown=not as_json, kept=f"diagnoses so far are in {run / FILE}") as progress:
            summary = ask_why(settings, progress)
    elif not annotations and not ((run / FILE).is_file() and (run / FILE).stat().st_size):
        raise InputError(f"{run}: no diagnoses yet; give a model to ask (--model) or human labels (--labels)")
    result = analyse_errors(run, annotations, model=model or None, instances=settings.instances)
    parts: list[Part] = [*result.tables, *result.notes]
    if summary:
        counts = f"{summary.asked} asked now, {summary.kept} answered before"
        parts += [tokens_line(summary), f"questions: {counts}", f"diagnoses: {run / FILE}"]
    emit({**result.numbers, **(_asking(summary) if summary else {})}, as_json, *parts)
    status = _status(summary) if summary else 0
    if status or bad:
        raise typer.Exit(status or 1)


def _asking(done: "JudgeSummary") -> dict[str, object]:
    return {
        "asked": done.asked,
        "kept": done.kept,
        "failed_questions": done.errors,
        "input_tokens": done.spent.input_tokens,
        "output_tokens": done.spent.output_tokens,
        "cost_usd": None if done.cost_usd is None else round(done.cost_usd, 6),
        "complete": done.complete,
        "stopped": done.stopped,
        "first_error": done.first_error,
    }


def _status(done: "JudgeSummary") -> int:
    """Print which answers have no diagnosis and how to resume; return the exit status."""
    for reason, count in sorted(Counter(done.not_judged.values()).items()):
        print_err(f"{count} not diagnosed: {reason}")
    return exit_status(done, "diagnosis", "diagnoses so far are kept", "diagnoses")
