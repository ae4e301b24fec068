"""`lmrbench judge`: a language model says how far the answers of a run are right in logic and code."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import LMRBenchError
from ..text import one_line
from .model_options import (
    BaseUrl,
    Instances,
    MaxTokens,
    NoCache,
    Prices,
    Questions,
    Retries,
    Rpm,
    Timeout,
)
from .options import MovedDataset
from .output import Json, interruptible, print_json, print_table, progress_bar, put, say

if TYPE_CHECKING:
    from ..api import Run
    from ..evaluate.judge.settings import JudgeSummary


Model = Annotated[str, typer.Option("--model", "-m", help="The judge, as its server calls it.")]
Votes = Annotated[int, typer.Option("--votes", min=1, max=99, help="Judgements an answer; most votes win.")]
MaxCost = Annotated[
    float | None,
    typer.Option(
        "--max-cost", min=0, help="Stop when the judgements of the folder have cost this much, in US dollars."
    ),
]


def judge(
    run: Annotated[Path, typer.Argument(help="Run folder of `lmrbench evaluate`.", metavar="RUN")],
    model: Model,
    base_url: BaseUrl = None,
    votes: Votes = 1,
    prices: Prices = None,
    max_cost: MaxCost = None,
    workers: Questions = 4,
    rpm: Rpm = None,
    retries: Retries = 5,
    timeout: Timeout = 300.0,
    max_tokens: MaxTokens = None,
    instance: Instances = None,
    dataset: MovedDataset = None,
    no_cache: NoCache = False,
    as_json: Json = False,
) -> None:
    """Have a language model judge the answers of a run: completely correct (CC), subtle errors (LC), wrong logic (LI).

    The key is read from OPENAI_API_KEY; a local server needs none. Judgements go to RUN/judgements.jsonl one by one,
    and the same command again asks only for those that are missing.

    Example: lmrbench judge runs/mine --model gpt-5 --votes 3
    """
    from .. import api

    folder = api.open_run(run)
    with interruptible(_kept(run)), progress_bar("judging", shown=not as_json) as progress:
        summary = api.judge(
            folder,
            model,
            base_url=base_url,
            votes=votes,
            workers=workers,
            prices=prices,
            max_cost=max_cost,
            requests_per_minute=rpm,
            retries=retries,
            timeout_s=timeout,
            max_tokens=max_tokens,
            instances=instance or (),
            dataset=dataset,
            use_cache=not no_cache,
            progress=progress,
        ).judging
    assert summary is not None
    judged = Judged(folder, summary, instance or (), votes)
    if as_json:
        print_json(judged.as_dict())
    else:
        judged.print_table()
    if status := judged.say_what_is_missing():
        raise typer.Exit(status)


def judge_and_keep_going(run: "Run", model: str, base_url: str | None, quiet: bool) -> "Judged":
    """Judge a run that has just been evaluated; a judge that fails does not take the evaluation's report away.

    Args:
        quiet: no progress bar.
    """
    from .. import api

    try:
        with interruptible(_kept(run.path)), progress_bar("judging", shown=not quiet) as progress:
            summary = api.judge(run, model, base_url=base_url, progress=progress).judging
    except LMRBenchError as error:
        return Judged(run, error)
    assert summary is not None
    return Judged(run, summary)


def _kept(run: Path) -> str:
    return f"judgements so far are in {run}/judgements.jsonl"


@dataclass
class Judged:
    """What came of judging a run, and how it is shown."""

    run: "Run"
    outcome: "JudgeSummary | LMRBenchError"
    instances: Sequence[str] = ()
    votes: int = 1

    def as_dict(self) -> dict[str, Any]:
        """What --json prints."""
        from ..evaluate.judge.summary import as_dict, summarise

        if isinstance(self.outcome, LMRBenchError):
            return {"run": str(self.run.path), "complete": False, "error": str(self.outcome)}
        models = summarise(self.run.path, self.outcome, self.instances)
        return {"run": str(self.run.path), **as_dict(models, self.outcome)}

    def print_table(self) -> None:
        """The categories by model, and what they took."""
        from ..evaluate.judge.summary import summarise, table

        if isinstance(self.outcome, LMRBenchError):
            return
        done, votes = self.outcome, self.votes
        models = summarise(self.run.path, done, self.instances)
        voted = f", {votes} votes" if votes > 1 else ""
        print_table(
            *table(models, votes), title=f"Judged by {done.judge.model} (prompt {done.judge.prompt_version}{voted})"
        )
        print_costs(done)
        put(f"judgements: {self.run.path}/judgements.jsonl")

    def say_what_is_missing(self) -> int:
        """Tell why not every answer is judged, and how to continue; return the exit status."""
        if isinstance(self.outcome, LMRBenchError):
            say(f"error: {one_line(self.outcome)}")
            return self.outcome.exit_code
        return say_what_is_missing(self.outcome)


def print_tokens(done: "JudgeSummary") -> None:
    """What all questions took, on stdout."""
    cost = "" if done.cost_usd is None else f"   cost: {done.cost_usd:.4f} USD"
    if done.spent.uncounted:  # whatever its price: tokens that nobody counted
        cost = "   cost: unknown (the server does not say how many tokens it used)"
    put(f"tokens: {done.spent.input_tokens:,} in, {done.spent.output_tokens:,} out{cost}")


def print_costs(done: "JudgeSummary") -> None:
    """What judging took, on stdout."""
    print_tokens(done)
    identical = f", {done.identical} for the reference's own code" if done.identical else ""
    put(f"votes: {done.asked} asked now, {done.cached} from the cache, {done.kept} were there before{identical}")


def say_what_is_missing(done: "JudgeSummary") -> int:
    """Tell why not every answer is judged, and how to continue; return the exit status."""
    if count := len(done.malformed):
        what = "malformed answer is" if count == 1 else "malformed answers are"
        say(f"{count} {what} left out: without a candidate function there is nothing to judge")
    for reason, count in sorted(Counter(done.not_judged.values()).items()):
        what = "answer is" if count == 1 else "answers are"
        say(f"{count} {what} not judged: {reason}; they count, as in none of the categories")
    if done.stopped:
        say(f"incomplete: {done.stopped}; judgements so far are kept")
    if done.errors:
        what = "judgement" if done.errors == 1 else "judgements"
        say(f"incomplete: {done.errors} {what} could not be had ({done.first_error})")
    if not done.complete:
        say(done.hint)
    return 0 if done.complete else 3
