"""`lmrbench analyse errors`: why the failed answers of a run fail, by a model and by people."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..judge import print_tokens
from ..model_options import (
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
from ..options import MovedDataset
from ..output import Json, interruptible, print_json, print_table, progress_bar, put, say

if TYPE_CHECKING:
    from ...evaluate.judge.settings import JudgeSummary


def errors(
    run: Annotated[Path, typer.Argument(help="Run folder of `lmrbench evaluate`.", metavar="RUN")],
    model: Annotated[
        str | None,
        typer.Option("--model", "-m", help="Whom to ask, as its server calls it; without it nobody is asked anew."),
    ] = None,
    base_url: BaseUrl = None,
    labels: Annotated[
        Path | None, typer.Option("--labels", help="People's labels (.csv, .jsonl; column `error`): they come first.")
    ] = None,
    prices: Prices = None,
    max_cost: Annotated[
        float | None,
        typer.Option(
            "--max-cost", min=0, help="Stop when the diagnoses of the folder have cost this much, in US dollars."
        ),
    ] = None,
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
    """Classify the failed answers of a run by the five error classes of the LMR-BENCH paper (Section 5.3).

    The model sees what the judge sees and, unlike it, what the tests reported. Diagnoses go to RUN/errors.jsonl one by
    one, and the same command again asks only for those that are missing. The classes: paper parsing, incomplete
    comprehension, code robustness, cross-file retrieval, policy.

    Example: lmrbench analyse errors runs/mine --model gpt-5 --labels people.csv
    """
    from ...analyse.errors.ask import ask_why
    from ...analyse.errors.classes import COLUMN
    from ...analyse.errors.store import FILE
    from ...analyse.errors.summary import analyse_errors
    from ...analyse.errors.tables import as_dict, notes, tables
    from ...chat.client import Endpoint
    from ...errors import InputError
    from ...evaluate.judge.cache import Cache
    from ...evaluate.judge.settings import JudgeSettings
    from ...evaluate.reports.annotations import read_annotations
    from ...evaluate.runs.results import read_facts

    read_facts(run)
    annotations, bad = read_annotations(labels, COLUMN) if labels else ([], [])
    for row in bad:
        say(f"bad row: {row}")
    summary = None
    if model:
        settings = JudgeSettings(
            run,
            Endpoint(model, base_url, retries, timeout, max_tokens, rpm),
            workers=workers,
            prices=prices,
            max_cost=max_cost,
            dataset=dataset,
            instances=instance or (),
            cache=Cache(None) if no_cache else Cache.of_user(),
        )
        with (
            interruptible(f"diagnoses so far are in {run / FILE}"),
            progress_bar("asking", shown=not as_json) as progress,
        ):
            summary = ask_why(settings, progress)
    elif not annotations and not ((run / FILE).is_file() and (run / FILE).stat().st_size):
        raise InputError(f"{run}: nobody was asked yet; give a model to ask (--model), or people's labels (--labels)")
    found = analyse_errors(run, annotations, model=model, instances=instance or ())
    if as_json:
        print_json({"run": str(run), **as_dict(found), **(_asking(summary) if summary else {})})
    else:
        for title, (header, rows) in tables(found):
            print_table(header, rows, title=title)
        for line in notes(found):
            put(line)
        if summary:
            _print_costs(summary)
            put(f"diagnoses: {run / FILE}")
    status = _say_what_is_missing(summary) if summary else 0
    if status or bad:
        raise typer.Exit(status or 1)


def _asking(done: "JudgeSummary") -> dict[str, object]:
    return {
        "asked": done.asked,
        "cached": done.cached,
        "kept": done.kept,
        "failed_questions": done.errors,
        "input_tokens": done.spent.input_tokens,
        "output_tokens": done.spent.output_tokens,
        "cost_usd": None if done.cost_usd is None else round(done.cost_usd, 6),
        "complete": done.complete,
        "stopped": done.stopped,
        "first_error": done.first_error,
    }


def _print_costs(done: "JudgeSummary") -> None:
    print_tokens(done)
    put(f"questions: {done.asked} asked now, {done.cached} from the cache, {done.kept} were answered before")


def _say_what_is_missing(done: "JudgeSummary") -> int:
    """Tell why not every failed answer has a diagnosis, and how to continue; return the exit status."""
    for reason, count in sorted(Counter(done.not_judged.values()).items()):
        say(f"{count} not asked about: {reason}")
    if done.stopped:
        say(f"incomplete: {done.stopped}; diagnoses so far are kept")
    if done.errors:
        what = "diagnosis" if done.errors == 1 else "diagnoses"
        say(f"incomplete: {done.errors} {what} could not be had ({done.first_error})")
    if not done.complete:
        say(done.hint)
    return 0 if done.complete else 3
