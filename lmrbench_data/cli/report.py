"""`lmrbench report`, `merge` and `show`: compare runs, combine the shares of an evaluation, explain one answer."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..base.extras import need
from ..base.files import write_atomically
from ..base.text import counted
from .options import JudgeModel, Labels, Notes
from .outcomes import report_text
from .output import Json, emit, only_runs, print_err, print_markdown

if TYPE_CHECKING:
    from lmrbench_evaluate.reports.answers import Answer, Chosen


def report(
    runs: Annotated[list[Path], typer.Argument(help="Run folders.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Output file; the extension selects the format: .md, .json, .csv or .html."),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option("--html", dir_okay=False, help="Also write a self-contained HTML page with all answers."),
    ] = None,
    figures: Annotated[
        Path | None,
        typer.Option(
            "--figures",
            file_okay=False,
            help="Also write figures (SVG, PDF) and tables (LaTeX, CSV) for a paper to a folder.",
        ),
    ] = None,
    labels: Labels = None,
    judge_model: JudgeModel = None,
    notes: Notes = False,
    as_json: Json = False,
) -> None:
    """Compare runs by model, category and instance.

    Recomputes the shares of reproduced and robust answers from the result rows. The scores come last.

    McNemar's test compares each pair of models, within a run or across runs. --labels adds the agreement between the
    judge and human labels.

    Example: lmrbench report runs/a runs/b --html report.html
    """
    from lmrbench_evaluate.reports.report import check_form

    from ..api import run as runs_api

    if out:
        check_form(out)
    if figures:
        need("report", "--figures")
    made = runs_api.report(*only_runs(runs), judge_model=judge_model, labels=labels)
    emit(made.to_dict(), as_json, *report_text(made, notes=notes))
    if out:
        print_err(f"written: {made.save(out)}")
    if html:
        write_atomically(html, made.to_html())
        print_err(f"written: {html}")
    if figures:
        for path in made.save_figures(figures):
            print_err(f"written: {path}")
    if made.bad_annotations:
        raise typer.Exit(1)


def merge(
    runs: Annotated[list[Path], typer.Argument(help="Run folders, each on instances of its own.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder of the merged run.")],
    notes: Notes = False,
    as_json: Json = False,
) -> None:
    """Merge runs on different instances into one run.

    For evaluations that several machines or batch jobs have shared. Report, judge and show then work on the whole.
    Results are copied unchanged, and nothing is evaluated again.

    Example: lmrbench merge runs/mine/share-* --out runs/mine/whole
    """
    from lmrbench_evaluate.runs.merge import merge_runs

    from ..api.run import open_run, write_report

    run = open_run(merge_runs(runs, out).path)
    write_report(run)
    report = run.report()
    emit(report.to_dict(), as_json, *report_text(report, notes=notes, folder=out))
    if not run.complete:
        print_err("incomplete: evaluate the same predictions into the merged folder to complete it")
        raise typer.Exit(3)


_SIGNS = {"add": "+", "del": "-", "hunk": "@"}
#: Meanings of the outcomes that reach a level, and of those that were not graded.
_MEANINGS = {
    "robust": " (every case passed)",
    "reproduced": " (reproduced, not robust: every core case passed)",
    "missing": "",
    "infra_error": "",
}


def show(
    run: Annotated[Path, typer.Argument(help="Run folder.", metavar="RUN")],
    instance: Annotated[str, typer.Argument(help="Instance id.")],
    sample: Annotated[int | None, typer.Option("--sample", min=0, help="Sample number (default: the first).")] = None,
    model: Annotated[str | None, typer.Option("--model", "-m", help="Model, if the run has several.")] = None,
    setting: Annotated[str | None, typer.Option("--setting", help="Setting, if the run has several.")] = None,
    track: Annotated[str | None, typer.Option("--track", help="Track, if the run has several.")] = None,
    judge_model: JudgeModel = None,
    as_json: Json = False,
) -> None:
    """Explain one answer.

    Shows its verdict, the outcomes of the model's other samples, the functions and experiments of a method, the failed
    cases, the difference from the reference and the judgement. It is Markdown, which a terminal renders.

    Example: lmrbench show runs/mine dpo-preference-loss --model my-model --sample 1
    """
    from lmrbench_evaluate.reports.answers import answer_dict, choose_answer
    from lmrbench_evaluate.reports.report import make_report

    report = make_report([run], judge_model=judge_model)
    chosen = choose_answer(report, instance, sample, model=model, setting=setting, track=track)
    if as_json:
        emit(answer_dict(chosen), as_json)
    else:
        print_markdown("\n\n".join(_paragraphs(chosen)))


def _paragraphs(chosen: "Chosen") -> Iterator[str]:
    from lmrbench_evaluate.reports.score_tables import words
    from lmrbench_evaluate.reports.spending import in_words

    score, answer = chosen.score, chosen.answer
    word = words([score])
    yield f"# {chosen.instance_id}"
    for warning in chosen.warnings:
        yield f"warning: {warning}"
    sample = f", sample {', '.join(map(str, answer.samples))}" if answer.samples and score.samples > 1 else ""
    yield f"`{score.name}`, {score.track} track{sample}"
    meaning = _MEANINGS.get(answer.outcome, " (not reproduced)")
    yield f"## Verdict: {word.get(answer.outcome, answer.outcome)}{meaning}"
    if answer.detail:
        yield _block(answer.detail)
    if answer.is_cut:
        yield "the reply was cut at the token limit; raise --max-tokens"
    if took := in_words(answer.took):
        yield f"took {took}"
    if len(chosen.samples) > 1:
        passed = sum(outcome in ("robust", "reproduced") for _, outcome in chosen.samples)
        yield f"## Samples: {passed} of {len(chosen.samples)} reproduced"
        yield "\n".join(f"- {number}: {word.get(outcome, outcome)}" for number, outcome in chosen.samples)
    yield from _parts(answer)
    if answer.cases:
        yield f"## Failed cases: {answer.bad_cases} of {answer.all_cases} cases and seeds"
        for case in answer.cases:
            seeds = f"seed{'s' * (len(case.seeds) > 1)} {', '.join(map(str, case.seeds))}"
            yield f"`{case.name}` ({'core' if case.core else 'contract'}, {seeds}): {case.status}"
            yield _block(case.detail)
        if answer.more_cases:
            yield f"{counted(answer.more_cases, 'more case')} in results.jsonl"
    for part in answer.sections:
        yield f"## {part.title}{', from the reference to the answer' if part.before else ''}"
        yield _block("\n".join(f"{_SIGNS.get(line.kind, ' ')} {line.text}" for line in part.lines), "diff")
    if judgement := answer.judgement:
        category = f"{judgement.category}: {judgement.category.full_name}" if judgement.category else "no category"
        lost = f", {judgement.errors} failed" if judgement.errors else ""
        yield f"## Judge: {category}"
        yield f"`{judgement.model}`, {counted(judgement.votes.total(), 'vote')}{lost}"
        texts = judgement.algorithm, judgement.implementation, *(f"- {line}" for line in judgement.rationale)
        yield _block("\n".join(filter(None, texts)))
    if answer.log:
        yield "## Log"
        yield _block(answer.log)


def _parts(answer: "Answer") -> Iterator[str]:
    """Yield the functions, experiments and choices of a method."""
    for title, parts in (("Functions", answer.functions), ("Experiments", answer.experiments)):
        if parts:
            yield f"## {title}: {sum(part['status'] == 'passed' for part in parts)} of {len(parts)} passed"
            yield "\n".join(f"- `{part['name']}`: {part['status']}" for part in parts)
    if choices := answer.choices:
        stated = sum(choice["reading"] == "stated" for choice in choices)
        yield f"## Choices: {stated} of {len(choices)} as in the paper or its tables"
        options = {choice["name"]: choice["option"] or "none of the options" for choice in choices}
        yield "\n".join(f"- `{item['name']}`: {options[item['name']]} ({item['reading']})" for item in choices)


def _block(text: str, language: str = "") -> str:
    """Return text that no Markdown changes: a block of code, whose fence is longer than any in the text."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}{language}\n{text}\n{fence}"
