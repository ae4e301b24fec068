"""`lmrbench judge`: a language model judges logic and code of the answers of a run."""

import typer

from lmrbench_evaluate.judge.settings import JudgeSettings

from .options import options
from .output import Json, interruptible, print_json
from .progress import progress_bar
from .show_judging import judging_dict, judging_status, print_judging


@options(JudgeSettings)
def judge(settings: JudgeSettings, as_json: Json = False) -> None:
    """Have a language model judge the answers of a run.

    It sorts them into completely correct (CC), subtle errors (LC) and wrong logic (LI).

    The key is read from OPENAI_API_KEY; a local server needs none. Judgements go to RUN/judgements.jsonl one by one.
    Re-run the command to resume.

    Example: lmrbench judge runs/mine --model gpt-5 --votes 3
    """
    from .. import api

    kept = f"judgements so far are in {settings.run}/judgements.jsonl"
    with interruptible(kept), progress_bar("judging", shown=not as_json) as progress:
        done = api.judge(**dict(settings), progress=progress).judging
    assert done is not None
    if as_json:
        print_json(judging_dict(settings.run, done, settings.instances))
    else:
        print_judging(settings.run, done, settings.instances, settings.votes)
    if status := judging_status(done):
        raise typer.Exit(status)
