"""`lmrbench show`: explain one answer by its verdict, failed cases, code difference and judgement, as Markdown."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..base.text import counted
from .options import JudgeModel
from .output import Json, emit, print_markdown

if TYPE_CHECKING:
    from lmrbench_evaluate.reports.answer_choice import Chosen
    from lmrbench_evaluate.reports.answer_pages import Answer

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
    from lmrbench_evaluate.reports.answer_choice import answer_dict, choose_answer
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
