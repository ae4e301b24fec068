"""`lmrbench generate` and `lmrbench run`: sample answers of a model; `run` also evaluates them."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lmrbench_data.base.configurations import configuration_of
from lmrbench_data.base.errors import ArgumentError
from lmrbench_data.base.settings import option
from lmrbench_data.base.text import plural
from lmrbench_data.dataset.load import check_config, load_rows
from lmrbench_data.loader import Config
from lmrbench_evaluate.runs.settings import EvaluationSettings, RunSettings

from ..generation.settings import PromptSettings, SamplingSettings
from .options import SandboxKind, chosen_row, option_of, options
from .outcomes import (
    answers_dict,
    answers_text,
    evaluate_command,
    exit_status,
    kept_in,
    print_run,
)
from .output import Json, emit, print_err, progress_bar

if TYPE_CHECKING:
    from lmrbench_evaluate.runs.engine import Engine
    from lmrbench_evaluate.sandbox.base import Sandbox

    from ..generation.sampling import SamplingSummary
    from .outcomes import Part

app = typer.Typer()


@app.callback(invoke_without_command=True)
@options(SamplingSettings, model=option("", "Model name, as its server knows it.", "--model", "-m"))
def generate(context: typer.Context, settings: SamplingSettings, as_json: Json = False) -> None:
    """Sample answers from a model and write them as predictions.

    The key is read from OPENAI_API_KEY; a local server needs none. Re-run the command to resume.

    Example: lmrbench generate --model gpt-5 --samples 3 --out predictions.jsonl
    """
    if context.invoked_subcommand:
        return
    if not settings.model:
        raise ArgumentError("model", "is missing")
    summary = _sample(settings)
    emit(answers_dict(settings.out, summary), as_json, *_text(settings, summary))
    raise typer.Exit(exit_status(summary, "request", kept_in(settings.out, "answers")))


@app.command()
@options(PromptSettings, without=("config",))
def prompt(
    instance: Annotated[str, typer.Argument(help="Instance id.", metavar="ID")],
    settings: PromptSettings,
    config: Annotated[
        Config | None, typer.Option(help="Configuration (default: that of the instance).")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show the prompt for an instance without sending it.

    Prints the estimated length in tokens on stderr.

    Example: lmrbench generate prompt dpo-preference-loss --setting full-repo
    """
    from ..generation.paper_texts import paper_text
    from ..generation.prompt import build_prompt, prompt_version

    row = chosen_row(instance, settings.dataset, config)
    built = build_prompt(
        row,
        setting=settings.setting,
        track=settings.track,
        paper=paper_text(row, settings.paper, settings.paper_pages),
        max_tokens=settings.max_prompt_tokens,
    )
    version = prompt_version(configuration_of(row).name)
    result = {
        "instance_id": instance,
        "tokens": built.tokens,
        "cut": built.cut,
        "prompt_version": version,
        "sha256": built.sha256,
        "messages": built.messages,
    }
    texts = [f"--- {message['role']}\n{message['content']}\n" for message in built.messages]
    emit(result, as_json, *texts)
    if not as_json:
        cut = f"; left out: {', '.join(built.cut)}" if built.cut else ""
        print_err(f"about {built.tokens:,} tokens, prompt {version}{cut}")


@options(SamplingSettings, without=("out",))
@options(EvaluationSettings, without=("workers",))
def run(
    settings: SamplingSettings,
    evaluation: EvaluationSettings,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Run folder (default: runs/MODEL-SETTING-TRACK...)."),
    ] = None,
    sandbox_workers: Annotated[
        int | None, option_of(EvaluationSettings, "workers", "--sandbox-workers")
    ] = None,
    sandbox: SandboxKind = "auto",
    as_json: Json = False,
) -> None:
    """Sample answers from a model, test them and print a report.

    Re-run the command to resume; with more instances or samples, it continues the run. Answers are
    in RUN.jsonl beside the run folder, and none is asked for twice.

    Example: lmrbench run --model gpt-5 --setting standard --track paper
    """
    from ..api.evaluation import evaluate, open_place

    folder = out or Path("runs") / settings.run_name
    if not folder.name.strip("."):
        folder = folder.resolve()
    answers = folder.with_name(f"{folder.name}.jsonl")
    instances = _chosen_instances(settings, evaluation)
    settings = settings.model_copy(update={"out": answers, "instances": instances})
    evaluation = evaluation.model_copy(update={"workers": sandbox_workers})
    with open_place(sandbox, evaluation) as place:
        run_settings = _checked_run(settings, evaluation, folder, place)
        summary = _sample(settings)
        if not as_json:
            emit({}, as_json, *_text(settings, summary, folder))
        if not summary.complete:
            raise typer.Exit(exit_status(summary, "request", kept_in(answers, "answers")))
        with progress_bar("distinct answers", kept="finished results are kept") as progress:
            run = evaluate(answers, sandbox=place, progress=progress, **dict(run_settings))
    print_run(run, as_json)


def _chosen_instances(
    settings: SamplingSettings, evaluation: EvaluationSettings
) -> tuple[str, ...]:
    """Return the named instances, or those of `--limit` and `--category`: no others are missing."""
    from lmrbench_evaluate.runs.evaluation import select

    if not (settings.limit or evaluation.categories):
        return settings.instances
    rows = load_rows(settings.dataset, settings.config, settings.instances)
    selected = select(rows, settings.instances, evaluation.categories)
    names = settings.instances or sorted(selected)
    return tuple([name for name in names if name in selected][: settings.limit])


def _checked_run(
    settings: SamplingSettings,
    evaluation: EvaluationSettings,
    folder: Path,
    place: "Sandbox | Engine",
) -> RunSettings:
    """Return the settings of the evaluation, once its folder is checked: before the first request.

    A run that is there keeps its instances, so that the answers to a few and then to all make one
    run.

    Raises:
        ArgumentError: the folder holds something else.
    """
    from lmrbench_evaluate.runs.evaluation import check_run
    from lmrbench_evaluate.runs.folder import RunFolder

    rows = load_rows(settings.dataset, settings.config)
    instances = settings.instances
    check_config(instances, rows, settings.dataset)
    if instances and RunFolder(folder).exists:
        earlier = RunFolder(folder).facts["scope"]
        known = sorted(row["instance_id"] for row in rows if row["instance_id"] in earlier)
        instances = tuple(dict.fromkeys([*instances, *known]))
    chosen = RunSettings(
        **{**dict(evaluation), "categories": ()},
        out=folder,
        dataset=settings.dataset,
        config=settings.config,
        instances=instances,
    )
    check_run(chosen, rows, place, settings.out)
    return chosen


def _sample(settings: SamplingSettings) -> "SamplingSummary":
    from ..api import models

    kept = partial(kept_in, settings.out, "answers")
    with progress_bar("sampling", kept=kept) as progress:
        return models.generate(**dict(settings), progress=progress)


def _text(
    settings: SamplingSettings, summary: "SamplingSummary", folder: Path | None = None
) -> "list[Part]":
    command = evaluate_command(settings.out, settings.config, settings.dataset)
    if folder:
        command += f" --out {folder}"
    counts = {"asked now": summary.asked, "unusable": summary.unusable}
    parts = answers_text(settings.out, summary, "answers", command, counts)
    if summary.cut:
        cut = plural(summary.cut, "answer was", "answers were")
        parts.insert(1, f"{cut} cut at the token limit; raise --max-tokens")
    return parts
