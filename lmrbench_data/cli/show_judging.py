"""Print the outcome of judging: categories by model, votes, tokens, costs and failures."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..base.errors import LMRBenchError
from ..base.text import counted, one_line
from .output import print_table, put, say
from .show_work import exit_status

if TYPE_CHECKING:
    from lmrbench_evaluate.judge.summary import JudgeSummary


def judging_dict(run: Path, done: "JudgeSummary | LMRBenchError", instances: Sequence[str] = ()) -> dict[str, Any]:
    """Return the JSON of a command that judged a run."""
    from lmrbench_evaluate.judge.summary import as_dict, summarise

    if isinstance(done, LMRBenchError):
        return {"run": str(run), "complete": False, "error": str(done)}
    return {"run": str(run), **as_dict(summarise(run, done, instances), done)}


def print_judging(
    run: Path, done: "JudgeSummary | LMRBenchError", instances: Sequence[str] = (), votes: int = 1
) -> None:
    """Print the categories by model and the cost of judging; nothing if the judge failed."""
    from lmrbench_evaluate.judge.summary import summarise, table

    if isinstance(done, LMRBenchError):
        return
    voted = f", {votes} votes" if votes > 1 else ""
    title = f"Judged by {done.judge.model} (prompt {done.judge.prompt_version}{voted})"
    print_table(*table(summarise(run, done, instances), votes), title=title)
    print_votes(done)
    put(f"judgements: {run}/judgements.jsonl")


def print_votes(done: "JudgeSummary") -> None:
    """Print the cost of judging and the sources of its votes."""
    print_tokens(done)
    identical = f", {done.identical} for the reference's own code" if done.identical else ""
    put(f"votes: {done.asked} asked now, {done.cached} from the cache, {done.kept} from earlier calls{identical}")


def print_tokens(done: "JudgeSummary") -> None:
    """Print the tokens and costs of all questions."""
    cost = "" if done.cost_usd is None else f"   cost: {done.cost_usd:.4f} USD"
    if done.spent.uncounted:  # whatever the price
        cost = "   cost: unknown (the server does not report its tokens)"
    put(f"tokens: {done.spent.input_tokens:,} in, {done.spent.output_tokens:,} out{cost}")


def judging_status(done: "JudgeSummary | LMRBenchError") -> int:
    """Print why answers have no category and how to resume; return the exit status."""
    if isinstance(done, LMRBenchError):
        say(f"error: {one_line(done)}")
        return done.exit_code
    if count := len(done.malformed):
        what = counted(count, "malformed answer is", "malformed answers are")
        say(f"{what} left out: there is no candidate function to judge")
    for reason, count in sorted(Counter(done.not_judged.values()).items()):
        say(f"{counted(count, 'answer is', 'answers are')} not judged: {reason}; they count as having no category")
    return exit_status(done, "judgement", "judgements so far are kept")
