"""`lmrbench agent`: run agents, write workspaces for them and collect their patches."""

import itertools
from collections.abc import Container, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from lmrbench_data.base.text import plural
from lmrbench_data.dataset.load import EMBEDDED, rows_by_config
from lmrbench_data.dataset.rows import DatasetRow

from ..generation.settings import AgentSettings
from .help import GroupedCommand
from .options import DatasetSpec, Track, chosen_row, options
from .outcomes import answers_dict, answers_text, evaluate_command, exit_status, kept_in
from .output import Json, emit, print_err, print_out, progress_bar

app = typer.Typer(help="Run agents, write workspaces and collect patches.", no_args_is_help=True)


@app.command()
def workspace(
    instance: Annotated[str, typer.Argument(help="Instance id.", metavar="ID")],
    folder: Annotated[Path, typer.Argument(help="New folder.", metavar="DIR")],
    track: Track = "paper",
    dataset: DatasetSpec = "embedded",
) -> None:
    """Write a workspace with everything an agent may see.

    The workspace holds TASK.md, the paper and the masked repository as a git repository.

    Example: lmrbench agent workspace dpo-preference-loss work/dpo
    """
    from ..generation.workspace import write_workspace

    row = chosen_row(instance, dataset)
    write_workspace(row, folder, track=track)
    command = _collect_command(folder, dataset)
    print_out(f"{folder}: TASK.md states the task; collect the answer with `{command}`")


def _collect_command(folder: Path, dataset: str) -> str:
    command = f"lmrbench agent collect {folder} --model NAME"
    if dataset != EMBEDDED:
        command += f" --dataset {dataset}"
    return command


@app.command(cls=GroupedCommand)
@options(AgentSettings)
def run(settings: AgentSettings, as_json: Json = False) -> None:
    """Run an agent on each instance and save its changes.

    The agent works in a container without a network; its changes become predictions.

    The key is read from OPENAI_API_KEY (ANTHROPIC_API_KEY for Anthropic's server) and stays outside
    the container. Re-run the command to resume.

    Example: lmrbench agent run --agent mini-swe-agent --model gpt-5 --out runs/mini
    """
    from lmrbench_evaluate.runs.folder import PREDICTIONS

    from ..api import models

    answers = settings.out / PREDICTIONS
    kept = partial(kept_in, answers, "rows")
    with progress_bar("agents", kept=kept) as progress:
        summary = models.run_agent(**dict(settings), progress=progress)
    command = evaluate_command(answers, settings.config, settings.dataset)
    counts = {"done now": summary.done, "without changes": summary.unchanged}
    text = answers_text(answers, summary, "rows", command, counts)
    emit(answers_dict(answers, summary), as_json, *text)
    raise typer.Exit(exit_status(summary, "row", kept()))


@app.command()
def collect(
    folders: Annotated[list[Path], typer.Argument(help="Workspaces.", metavar="DIR...")],
    model: Annotated[str, typer.Option("--model", "-m", help="Name of the agent in reports.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="File of predictions; rows are added to it.")
    ] = Path("predictions.jsonl"),
    setting: Annotated[str, typer.Option(help="Setting to record in the rows.")] = "agent",
    sample: Annotated[
        int, typer.Option(min=0, help="Sample number of the first row of each instance.")
    ] = 0,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace rows that are already in the file.")
    ] = False,
    dataset: DatasetSpec = "embedded",
    as_json: Json = False,
) -> None:
    """Turn changes in workspaces into predictions.

    Several workspaces of an instance become samples 0, 1, ... A row that is already in the file is
    an error: --replace replaces it, --sample 1 keeps both.

    Example: lmrbench agent collect work/* --model my-agent --out predictions.jsonl
    """
    from ..generation.collect import add_rows, collect_rows
    from ..generation.workspace import read_marker

    instances = [read_marker(folder).instance_id for folder in folders]
    configs = rows_by_config(instances, dataset)
    rows = {row["instance_id"]: row for row in itertools.chain.from_iterable(configs.values())}
    answers = collect_rows(folders, rows, model=model, setting=setting, sample=sample)
    for folder, answer in zip(folders, answers, strict=True):
        _print_remarks(folder, answer)
    replaced = add_rows(out, answers, replace=replace)
    added = f"{plural(len(answers), 'row')} added"
    if replaced:
        added += f" ({replaced} replaced)"
    commands = _evaluate_commands(out, configs, instances, dataset)
    empty = sum(not answer["model_patch"] for answer in answers)
    emit(
        {"out": str(out), "rows": len(answers), "replaced": replaced, "empty": empty},
        as_json,
        f"{out}: {added}; evaluate them with {commands}",
    )


def _evaluate_commands(
    out: Path, configs: Mapping[str, Iterable[DatasetRow]], instances: Container[str], dataset: str
) -> str:
    """Return a command for each configuration that has one of the instances."""
    commands = []
    for config, rows in configs.items():
        if any(row["instance_id"] in instances for row in rows):
            commands.append(f"`{evaluate_command(out, config, dataset)}`")
    return " and ".join(commands)


def _print_remarks(folder: Path, answer: Mapping[str, Any]) -> None:
    facts = answer["metadata"]
    if facts.get("left_out"):
        print_err(f"{folder}: left out: {', '.join(facts['left_out'])}")
    if not answer["model_patch"]:
        problem = facts.get("problem", "no changes")
        print_err(f"{folder}: {problem}; the row counts as malformed")
