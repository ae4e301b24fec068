"""`lmrbench show`: one answer in the terminal: verdict, failing cases, code difference and judgement."""

from pathlib import Path
from typing import Annotated

import typer

from .options import JudgeModel
from .output import Json, print_json
from .show_answer import print_answer


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
    cases, the difference from the reference and the judgement.

    Example: lmrbench show runs/mine dpo-preference-loss --model my-model --sample 1
    """
    from lmrbench_evaluate.reports.answer_choice import answer_dict, choose_answer
    from lmrbench_evaluate.reports.report import make_report

    report = make_report([run], judge_model=judge_model)
    chosen = choose_answer(report, instance, sample, model=model, setting=setting, track=track)
    if as_json:
        print_json(answer_dict(chosen))
    else:
        print_answer(chosen)
