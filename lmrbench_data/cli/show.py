"""`lmrbench show`: one answer explained in the terminal: verdict, failing cases, the change of the code, the judge."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..base.text import counted
from .output import Json, print_json, put, put_coloured

if TYPE_CHECKING:
    from lmrbench_evaluate.reports.answer_pages import Answer
    from lmrbench_evaluate.reports.scores import ModelScore

#: Colours of lines of a difference, where a terminal shows them.
_COLOURS = {"add": "\x1b[32m", "del": "\x1b[31m", "hunk": "\x1b[36m", "note": "\x1b[2m"}
_SIGNS = {"add": "+", "del": "-", "hunk": "@"}


def show(
    run: Annotated[Path, typer.Argument(help="Run folder.", metavar="RUN")],
    instance: Annotated[str, typer.Argument(help="Instance id.")],
    sample: Annotated[int | None, typer.Option("--sample", min=0, help="Which sample; the first by default.")] = None,
    model: Annotated[str | None, typer.Option("--model", "-m", help="Whose answer, if several answered.")] = None,
    setting: Annotated[str | None, typer.Option("--setting", help="In which setting, if there are several.")] = None,
    track: Annotated[str | None, typer.Option("--track", help="In which track, if there are several.")] = None,
    judge_model: Annotated[
        str | None, typer.Option("--judge-model", help="Whose judgement; the last one's by default.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Explain one answer.

    Show its verdict, the cases that did not pass, the difference from the reference and the judgement.

    Example: lmrbench show runs/mine dpo-preference-loss --model my-model --sample 1
    """
    from lmrbench_evaluate.reports.answer_pages import collect
    from lmrbench_evaluate.reports.report import make_report

    report = make_report([run], judge_model=judge_model)
    number = _choose(report.scores, instance, model=model, setting=setting, track=track)
    [found], warnings = collect(report, only=[instance], score=number)
    answer = _sample(found.answers, sample)
    if as_json:
        print_json(_as_dict(report.scores[number], instance, answer))
        return
    for warning in warnings:
        put(f"warning: {warning}")
    _print(report.scores[number], instance, answer)


def _choose(scores: list["ModelScore"], instance: str, **wanted: str | None) -> int:
    """Which score's answer is meant.

    Raises:
        InputError: none or several can be.
    """
    import difflib

    from ..base.errors import ArgumentError, InputError

    known = sorted({name for score in scores for name in score.scope})
    if instance not in known:
        near = difflib.get_close_matches(instance, known, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise InputError(f"{instance!r} is not in the scope of this run{hint}")
    fits = [
        number
        for number, score in enumerate(scores)
        if all(want in (None, getattr(score, name)) for name, want in wanted.items())
    ]
    fits = [number for number in fits if instance in scores[number].answers] or fits
    if len(fits) == 1:
        return fits[0]
    names = "; ".join(f"{score.name}, {score.track}" for score in scores)
    for name in wanted:
        values = {getattr(scores[number], name) for number in fits}
        if len(values) != 1:
            raise ArgumentError(name, f"one is needed to choose among the answers of this run: {names}")
    raise ArgumentError("model", f"one is needed to choose among the answers of this run: {names}")


def _sample(answers: list["Answer"], sample: int | None) -> "Answer":
    from ..base.errors import ArgumentError

    found = next((answer for answer in answers if sample is None or sample in answer.samples), None)
    if found is None:
        there = ", ".join(str(number) for answer in answers for number in answer.samples) or "none"
        raise ArgumentError("sample", f"{sample}: no such answer; the samples of this instance are: {there}")
    return found


def _as_dict(score: "ModelScore", instance: str, answer: "Answer") -> dict[str, Any]:
    names = {"instance_id": instance, "model_name_or_path": score.model, "setting": score.setting, "track": score.track}
    facts = {**vars(answer), "cases": [vars(case) for case in answer.cases]}
    facts["sections"] = [
        {"title": section.title, "lines": [[line.kind, line.text] for line in section.lines]}
        for section in answer.sections
    ]
    del facts["score"]
    return {**names, **facts, "judgement": answer.judgement and vars(answer.judgement)}


def _print(score: "ModelScore", instance: str, answer: "Answer") -> None:
    from lmrbench_evaluate.reports.score_tables import WORDS
    from lmrbench_evaluate.reports.spending import in_words

    word = "samples" if len(answer.samples) > 1 else "sample"
    of = f", {word} {', '.join(map(str, answer.samples))}" if answer.samples and score.samples > 1 else ""
    put(f"{instance}\n{score.name}, {score.track} track{of}")
    put(f"\nVERDICT  {WORDS.get(answer.outcome, answer.outcome)}")
    if answer.detail:
        put(answer.detail)
    if took := in_words(answer.took):
        put(f"took {took}")
    if answer.cases:
        put(f"\nWHAT DID NOT PASS  {answer.bad_cases} of {answer.all_cases} cases and seeds")
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
