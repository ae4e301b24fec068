"""`lmrbench show`: one answer in the terminal: verdict, failing cases, code difference and judgement."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..base.text import counted
from .options import JudgeModel
from .output import Json, print_json, put, put_coloured

if TYPE_CHECKING:
    from lmrbench_evaluate.reports.answer_pages import Answer
    from lmrbench_evaluate.reports.scores import ModelScore

#: Colours of the lines of a difference in a terminal.
_COLOURS = {"add": "\x1b[32m", "del": "\x1b[31m", "hunk": "\x1b[36m", "note": "\x1b[2m"}
_SIGNS = {"add": "+", "del": "-", "hunk": "@"}


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

    Shows its verdict, the functions and experiments of a method, the failed cases, the difference from the reference
    and the judgement.

    Example: lmrbench show runs/mine dpo-preference-loss --model my-model --sample 1
    """
    from lmrbench_evaluate.reports.answer_choice import answer_dict, choose_answer
    from lmrbench_evaluate.reports.report import make_report

    report = make_report([run], judge_model=judge_model)
    score, answer, warnings = choose_answer(report, instance, sample, model=model, setting=setting, track=track)
    if as_json:
        print_json(answer_dict(score, instance, answer))
        return
    for warning in warnings:
        put(f"warning: {warning}")
    _print(score, instance, answer)


def _print(score: "ModelScore", instance: str, answer: "Answer") -> None:
    from lmrbench_evaluate.reports.score_tables import words
    from lmrbench_evaluate.reports.spending import in_words

    word = "samples" if len(answer.samples) > 1 else "sample"
    of = f", {word} {', '.join(map(str, answer.samples))}" if answer.samples and score.samples > 1 else ""
    put(f"{instance}\n{score.name}, {score.track} track{of}")
    put(f"\nVERDICT  {words([score]).get(answer.outcome, answer.outcome)}")
    if answer.detail:
        put(answer.detail)
    if took := in_words(answer.took):
        put(f"took {took}")
    for title, parts in (("FUNCTIONS", answer.functions), ("EXPERIMENTS", answer.experiments)):
        if parts:
            put(f"\n{title}  {sum(part['status'] == 'passed' for part in parts)} of {len(parts)} passed")
            put("\n".join(f"  {part['name']}: {part['status']}" for part in parts))
    if answer.choices:
        right = sum(choice["reading"] == "stated" for choice in answer.choices)
        put(f"\nCHOICES  {right} of {len(answer.choices)} as in the paper or its tables")
        for choice in answer.choices:
            put(f"  {choice['name']}: {choice['option'] or 'none of the options'} ({choice['reading']})")
    if answer.cases:
        put(f"\nFAILED CASES  {answer.bad_cases} of {answer.all_cases} cases and seeds")
        for case in answer.cases:
            seeds = f"seed{'s' * (len(case.seeds) > 1)} {', '.join(map(str, case.seeds))}"
            put(f"  {case.name} ({'core' if case.core else 'contract'}, {seeds}): {case.status}")
            put("\n".join(f"    {line}" for line in case.detail.splitlines()))
        if answer.more_cases:
            put(f"  {counted(answer.more_cases, 'more case')} in results.jsonl")
    for part in answer.sections:
        put(f"\n{part.title + (', from the reference to the answer' if part.before else '')}")
        coloured = sys.stdout.isatty()
        for line in part.lines:
            put_coloured(f"{_SIGNS.get(line.kind, ' ')} {line.text}", _COLOURS.get(line.kind, "") if coloured else "")
    if judgement := answer.judgement:
        category = f"{judgement.category}: {judgement.category.full_name}" if judgement.category else "no category"
        lost = f", {judgement.errors} failed" if judgement.errors else ""
        put(f"\nJUDGE  {category} ({judgement.model}, {counted(judgement.votes.total(), 'vote')}{lost})")
        for text in (judgement.algorithm, judgement.implementation, *(f"- {point}" for point in judgement.rationale)):
            if text:
                put(text)
    if answer.log:
        put(f"\nLOG\n{answer.log}")
