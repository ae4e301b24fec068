"""`lmrbench generate` and `lmrbench run`: sample answers from a model; `run` also evaluates them."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lmrbench_evaluate.runs.settings import RunSettings

from ..base.settings import option
from ..generation.settings import PromptSettings, SamplingSettings
from .options import Notes, Sandbox, chosen_row, option_of, options
from .output import Json, interruptible, print_json, put, say
from .progress import progress_bar
from .show_report import print_files, print_report, run_status
from .show_work import answers_dict, exit_status, print_answers

if TYPE_CHECKING:
    from ..generation.sampling import SamplingSummary

app = typer.Typer()


@app.callback(invoke_without_command=True)
@options(SamplingSettings, model=option("", "Model name, as its server knows it.", "--model", "-m"))
def generate(context: typer.Context, settings: SamplingSettings, as_json: Json = False) -> None:
    """Sample answers from a model and write them as predictions.

    The key is read from OPENAI_API_KEY; a local server needs none. Re-run the command to resume.

    Example: lmrbench generate --model gpt-5 --samples 3 --out predictions.jsonl
    """
    from ..base.errors import ArgumentError

    if context.invoked_subcommand:
        return
    if not settings.model:
        raise ArgumentError("model", "is missing")
    summary = _sample(settings, as_json)
    if as_json:
        print_json(answers_dict(settings.out, summary))
    elif summary.asked or summary.kept:
        put(f"predictions: {settings.out}; evaluate them with `lmrbench evaluate {settings.out}`")
    if status := _exit_status(summary, settings.out):
        raise typer.Exit(status)


@app.command()
@options(PromptSettings)
def prompt(
    instance: Annotated[str, typer.Argument(help="Instance id.", metavar="ID")],
    settings: PromptSettings,
    as_json: Json = False,
) -> None:
    """Show the prompt for an instance without sending it.

    Prints the estimated length in tokens on stderr.

    Example: lmrbench generate prompt dpo-preference-loss --setting full-repo
    """
    from ..dataset.rows import config_of
    from ..generation.paper_texts import paper_text
    from ..generation.prompt import build_prompt, prompt_version

    row = chosen_row(instance, settings.dataset)
    built = build_prompt(
        row,
        setting=settings.setting,
        track=settings.track,
        paper=paper_text(row, settings.paper, settings.paper_pages),
        max_tokens=settings.max_prompt_tokens,
    )
    version = prompt_version(config_of(row))
    facts: dict[str, Any] = {"tokens": built.tokens, "cut": list(built.cut), "prompt_version": version}
    if as_json:
        print_json({"instance_id": instance, **facts, "sha256": built.sha256, "messages": list(built.messages)})
        return
    for message in built.messages:
        put(f"--- {message['role']}\n{message['content']}\n")
    cut = f"; left out: {', '.join(built.cut)}" if built.cut else ""
    say(f"about {built.tokens:,} tokens, prompt {version}{cut}")


@options(SamplingSettings, without=("out",))
def run(
    settings: SamplingSettings,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Run folder (default: runs/MODEL-SETTING-TRACK[-CONFIG]).")
    ] = None,
    sandbox_workers: Annotated[int, option_of(RunSettings, "workers", "--sandbox-workers")] = 2,
    sandbox: Sandbox = "auto",
    notes: Notes = False,
    as_json: Json = False,
) -> None:
    """Sample answers from a model, test them and print a report.

    Re-run the command to resume. Answers are in RUN.jsonl beside the run folder.

    Example: lmrbench run --model gpt-5 --setting standard --track paper
    """
    from .. import api
    from ..loader import FUNCTION

    name = settings.name or settings.model
    config = f"-{settings.config}" if settings.config != FUNCTION else ""
    folder = out or Path("runs") / re.sub(r"[^\w.-]", "-", f"{name}-{settings.setting}-{settings.track}{config}")
    settings = settings.model_copy(update={"out": folder.with_name(f"{folder.name}.jsonl")})
    summary = _sample(settings, as_json)
    if status := _exit_status(summary, settings.out):
        raise typer.Exit(status)
    with interruptible("finished results are kept"), progress_bar("evaluating", shown=not as_json) as progress:
        run = api.evaluate(
            settings.out,
            folder,
            dataset=settings.dataset,
            config=settings.config,
            instances=settings.instances,
            workers=sandbox_workers,
            sandbox=sandbox,
            progress=progress,
        )
    assert run.summary is not None
    if as_json:
        print_json(run.report().to_dict())
    else:
        print_report(run.report(), notes=notes)
        print_files(run.path)
    if status := run_status(run.summary):
        raise typer.Exit(status)


def _sample(settings: SamplingSettings, quiet: bool) -> "SamplingSummary":
    """Sample the missing answers; print how many there are."""
    from .. import api

    kept = f"answers so far are in {settings.out}"
    with interruptible(kept), progress_bar("sampling", shown=not quiet) as progress:
        summary: SamplingSummary = api.generate(**dict(settings), progress=progress)
    if not quiet:
        print_answers(summary, "answers", [("asked now", summary.asked), ("unusable answers", summary.unusable)])
    return summary


def _exit_status(summary: "SamplingSummary", out: Path) -> int:
    return exit_status(summary, "request", f"answers so far are in {out}")
