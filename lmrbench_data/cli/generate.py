"""`lmrbench generate` and `lmrbench run`: ask a model for answers, alone or with evaluation and report behind it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .model_options import BaseUrl, Instances, MaxTokens, Model, Prices, Retries, Rpm, Timeout
from .options import DatasetSpec, Track, chosen_row
from .output import Json, Workers, interruptible, print_json, print_table, progress_bar, put, say

if TYPE_CHECKING:
    from ..generate.sampling import SamplingSummary

app = typer.Typer()

Name = Annotated[str, typer.Option("--name", help="Of the model in the rows; by default as its server calls it.")]
Setting = Annotated[
    str, typer.Option("--setting", "-s", help="What the model sees: standard, paper-only, paper+goal-file, full-repo.")
]
Paper = Annotated[
    str, typer.Option("--paper", help="text (our summary), pdf-json, pdf-markdown (see `lmrbench papers`) or none.")
]
Pages = Annotated[str, typer.Option("--paper-pages", help="Of the PDF, such as 1-9; all by default.")]
Samples = Annotated[int, typer.Option("--samples", "-k", min=1, max=1000, help="Answers for each instance.")]
Temperature = Annotated[float | None, typer.Option("--temperature", min=0, max=2, help="The server's own by default.")]
Requests = Annotated[int, typer.Option("--requests", "-r", min=1, max=256, help="Requests at a time.")]
MaxCost = Annotated[
    float | None, typer.Option("--max-cost", min=0, help="Stop when the answers have cost this much, in US dollars.")
]
MaxPrompt = Annotated[
    int | None, typer.Option("--max-prompt-tokens", min=100, help="Cut longer prompts (an estimate of tokens counts).")
]


@app.callback(invoke_without_command=True)
def generate(
    context: typer.Context,
    model: Annotated[str, typer.Option("--model", "-m", help="The model, as its server calls it.")] = "",
    out: Annotated[Path, typer.Option("--out", "-o", help="File of predictions; what is in it stays.")] = Path(
        "predictions.jsonl"
    ),
    setting: Setting = "standard",
    track: Track = "paper",
    paper: Paper = "text",
    paper_pages: Pages = "",
    samples: Samples = 1,
    name: Name = "",
    base_url: BaseUrl = None,
    temperature: Temperature = None,
    requests: Requests = 4,
    prices: Prices = None,
    max_cost: MaxCost = None,
    rpm: Rpm = None,
    retries: Retries = 5,
    timeout: Timeout = 600.0,
    max_tokens: MaxTokens = None,
    max_prompt_tokens: MaxPrompt = None,
    instance: Instances = None,
    dataset: DatasetSpec = "embedded",
    as_json: Json = False,
) -> None:
    """Ask a model for each instance and write its answers as predictions, one by one.

    The key is read from OPENAI_API_KEY; a local server needs none. The same command again asks only for what is
    missing.

    Example: lmrbench generate --model gpt-5 --samples 3 --out predictions.jsonl
    """
    from .. import api
    from ..errors import ArgumentError

    if context.invoked_subcommand:
        return
    if not model:
        raise ArgumentError("model", "is missing: the model's name, as its server calls it")

    with interruptible(f"answers so far are in {out}"), progress_bar("sampling", shown=not as_json) as progress:
        summary = api.generate(
            model,
            out,
            setting=setting,
            track=track,
            paper=paper,
            paper_pages=paper_pages,
            samples=samples,
            name=name,
            base_url=base_url,
            temperature=temperature,
            workers=requests,
            prices=prices,
            max_cost=max_cost,
            requests_per_minute=rpm,
            retries=retries,
            timeout_s=timeout,
            max_tokens=max_tokens,
            max_prompt_tokens=max_prompt_tokens,
            instances=instance or (),
            dataset=dataset,
            progress=progress,
        )
    if as_json:
        print_json({"out": str(out), **_as_dict(summary)})
    else:
        _print(summary)
        if summary.asked or summary.kept:
            put(f"predictions: {out}; evaluate them with `lmrbench evaluate {out}`")
    _end(summary, out)


@app.command()
def prompt(
    instance: Annotated[str, typer.Argument(help="Instance id.", metavar="ID")],
    setting: Setting = "standard",
    track: Track = "paper",
    paper: Paper = "text",
    paper_pages: Pages = "",
    max_prompt_tokens: MaxPrompt = None,
    dataset: DatasetSpec = "embedded",
    as_json: Json = False,
) -> None:
    """Show what a model would be asked for an instance, and about how many tokens that is. Nothing is sent.

    Example: lmrbench generate prompt dpo-preference-loss --setting full-repo
    """
    from ..evaluate.predictions import check_track
    from ..generate.papers import paper_text
    from ..generate.prompt import build_prompt, prompt_version

    check_track(track)
    row = chosen_row(instance, dataset)
    text = paper_text(row, paper, paper_pages)
    built = build_prompt(row, setting=setting, track=track, paper=text, max_tokens=max_prompt_tokens)
    facts: dict[str, Any] = {"tokens": built.tokens, "cut": list(built.cut), "prompt_version": prompt_version()}
    if as_json:
        print_json({"instance_id": instance, **facts, "sha256": built.sha256, "messages": list(built.messages)})
        return
    for message in built.messages:
        put(f"--- {message['role']}\n{message['content']}\n")
    cut = f"; left out: {', '.join(built.cut)}" if built.cut else ""
    say(f"about {built.tokens:,} tokens, prompt {prompt_version()}{cut}")


def run(
    model: Model,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Run folder; by default runs/MODEL-SETTING-TRACK.")
    ] = None,
    setting: Setting = "standard",
    track: Track = "paper",
    paper: Paper = "text",
    paper_pages: Pages = "",
    samples: Samples = 1,
    name: Name = "",
    base_url: BaseUrl = None,
    temperature: Temperature = None,
    requests: Requests = 4,
    prices: Prices = None,
    max_cost: MaxCost = None,
    max_tokens: MaxTokens = None,
    instance: Instances = None,
    dataset: DatasetSpec = "embedded",
    workers: Workers = 2,
    sandbox: Annotated[str, typer.Option("--sandbox", help="Where answers run: auto, docker or local.")] = "auto",
    as_json: Json = False,
) -> None:
    """Take a model from nothing to a report: ask it for answers, test them, and print the tables.

    The same command again goes on where it was stopped. The answers are in RUN.jsonl beside the run folder.

    Example: lmrbench run --model gpt-5 --setting standard --track paper
    """
    import re

    from .. import api
    from .evaluate import evaluate

    label = re.sub(r"[^\w.-]", "-", f"{name or model}-{setting}-{track}")
    folder = out or Path("runs") / label
    answers = folder.with_name(f"{folder.name}.jsonl")
    with interruptible(f"answers so far are in {answers}"), progress_bar("sampling", shown=not as_json) as progress:
        summary = api.generate(
            model,
            answers,
            setting=setting,
            track=track,
            paper=paper,
            paper_pages=paper_pages,
            samples=samples,
            name=name,
            base_url=base_url,
            temperature=temperature,
            workers=requests,
            prices=prices,
            max_cost=max_cost,
            max_tokens=max_tokens,
            instances=instance or (),
            dataset=dataset,
            progress=progress,
        )
    if not as_json:
        _print(summary)
    _end(summary, answers)
    evaluate(
        str(answers),
        folder,
        columns=None,
        dataset=dataset,
        instance=instance,
        category=None,
        workers=workers,
        sandbox=sandbox,
        timeout_scale=1.0,
        fresh_seeds=0,
        judge=None,
        judge_base_url=None,
        as_json=as_json,
    )


def _print(summary: "SamplingSummary") -> None:
    cost = "unknown" if summary.cost_usd is None else f"{summary.cost_usd:.4f} USD"
    rows = [
        ["asked now", str(summary.asked)],
        ["there before", str(summary.kept)],
        ["unusable answers", str(summary.unusable)],
        ["tokens in, out", f"{summary.input_tokens:,}, {summary.output_tokens:,}"],
        ["cost", cost],
    ]
    print_table(("answers", "number"), rows)


def _as_dict(summary: "SamplingSummary") -> dict[str, Any]:
    return {**vars(summary), "complete": summary.complete}


def _end(summary: "SamplingSummary", out: Path) -> None:
    """Leave with status 3 if answers are missing, and say how to have them."""
    if summary.stopped:
        say(f"incomplete: {summary.stopped}; answers so far are in {out}")
    if summary.errors:
        say(f"incomplete: {summary.errors} answers could not be had ({summary.first_error})")
    if not summary.complete:
        say("the same command asks for those that are missing, and only for them")
        raise typer.Exit(3)
