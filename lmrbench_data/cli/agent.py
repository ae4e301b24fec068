"""`lmrbench agent`: run agents, write workspaces for them and collect their patches."""

from pathlib import Path
from typing import Annotated

import typer

from ..dataset.load import EMBEDDED
from ..generation.settings import AgentSettings
from ..loader import FUNCTION
from .options import BuildNetwork, DatasetSpec, Track, chosen_row, options, rows_by_config
from .output import Json, interruptible, print_json, put, say
from .progress import progress_bar
from .show_work import answers_dict, exit_status, print_answers

app = typer.Typer(help="Run agents, write workspaces and collect patches.", no_args_is_help=True)


@app.command()
def workspace(
    instance: Annotated[str, typer.Argument(help="Instance id.", metavar="ID")],
    folder: Annotated[Path, typer.Argument(help="New folder.", metavar="DIR")],
    track: Track = "paper",
    dataset: DatasetSpec = "embedded",
    as_json: Json = False,
) -> None:
    """Write a workspace with everything an agent may see.

    The workspace holds TASK.md, the paper and the masked repository as a git repository.

    Example: lmrbench agent workspace dpo-preference-loss work/dpo
    """
    from lmrbench_evaluate.predictions.prediction import check_track

    from ..generation.workspace import write_workspace

    check_track(track)
    row = chosen_row(instance, dataset)
    write_workspace(row, folder, track=track)
    if as_json:
        print_json({"instance_id": instance, "track": track, "folder": str(folder)})
    else:
        command = f"lmrbench agent collect {folder} --model NAME{_dataset_option(dataset)}"
        put(f"{folder}: TASK.md states the task; collect the answer with `{command}`")


@app.command()
@options(AgentSettings)
def run(settings: AgentSettings, as_json: Json = False) -> None:
    """Run an agent on each instance and save its changes.

    The agent works in a container without a network; its changes become predictions.

    The key is read from OPENAI_API_KEY and stays outside the container. Re-run the command to resume.

    Example: lmrbench agent run --agent mini-swe-agent --model gpt-5 --out runs/mini
    """
    import sys

    from .. import api
    from ..generation.agents.agent_runs import PREDICTIONS

    answers = settings.out / PREDICTIONS
    kept = f"rows so far are in {answers}"
    tell = (lambda line: None) if sys.stderr.isatty() and not as_json else say
    with interruptible(kept), progress_bar("agents", shown=not as_json) as progress:
        summary = api.run_agent(**dict(settings), progress=progress, tell=tell)
    if as_json:
        print_json(answers_dict(answers, summary))
    else:
        print_answers(summary, "rows", [("done now", summary.done), ("no changes", summary.unchanged)])
        if summary.done or summary.kept:
            put(f"predictions: {answers}; evaluate them with `lmrbench evaluate {answers}`")
    if status := exit_status(summary, "row", kept):
        raise typer.Exit(status)


@app.command()
def image(
    agent: Annotated[str, typer.Argument(help="Agent: openhands.", metavar="AGENT")],
    dataset: DatasetSpec = "embedded",
    network: BuildNetwork = None,
    as_json: Json = False,
) -> None:
    """Build the image of an agent that runs in the container.

    Adds the agent to the tasks' image.

    Example: lmrbench agent image openhands
    """
    from ..dataset.load import load_rows
    from ..generation.agents.agent_image import build_agent_images

    bases = sorted({row["docker_image"] for row in load_rows(dataset)})
    built = build_agent_images(agent, bases, network=network, tell=say)
    if as_json:
        print_json(built)
    else:
        for tag, identity in built.items():
            put(f"{tag}  {identity}")


@app.command()
def collect(
    folders: Annotated[list[Path], typer.Argument(help="Workspaces.", metavar="DIR...")],
    model: Annotated[str, typer.Option("--model", "-m", help="Name of the agent in reports.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="File of predictions; rows are added to it.")] = Path(
        "predictions.jsonl"
    ),
    setting: Annotated[str, typer.Option("--setting", help="Setting to record in the rows.")] = "agent",
    sample: Annotated[
        int, typer.Option("--sample", min=0, help="Sample number of the first row of each instance.")
    ] = 0,
    replace: Annotated[bool, typer.Option("--replace", help="Replace rows that are already in the file.")] = False,
    dataset: DatasetSpec = "embedded",
    as_json: Json = False,
) -> None:
    """Turn changes in workspaces into predictions.

    Each workspace becomes one row.

    Several workspaces of an instance become samples 0, 1, ... A row that is already in the file is an error: --replace
    replaces it, --sample 1 keeps both.

    Example: lmrbench agent collect work/* --model my-agent --out predictions.jsonl
    """
    from ..generation.collect import add_rows, collect_rows
    from ..generation.workspace import read_marker

    configs = rows_by_config([read_marker(folder)[0] for folder in folders], dataset)
    rows = {row["instance_id"]: row for found in configs.values() for row in found}
    found = collect_rows(folders, rows, model=model, setting=setting, sample=sample)
    for folder, row in zip(folders, found, strict=True):
        facts = row["metadata"]
        if facts.get("left_out"):
            say(f"{folder}: left out: {', '.join(facts['left_out'])}")
        if not row["model_patch"]:
            say(f"{folder}: {facts.get('problem', 'no changes')}; the row counts as malformed")
    replaced = add_rows(out, found, replace=replace)
    if as_json:
        empty = sum(not row["model_patch"] for row in found)
        print_json({"out": str(out), "rows": len(found), "replaced": replaced, "empty": empty})
    else:
        instead = f" ({replaced} replaced)" if replaced else ""
        ids = {row["instance_id"] for row in found}
        needed = [name for name, known in configs.items() if ids & {row["instance_id"] for row in known}]
        chosen = ["" if name == FUNCTION else f" --config {name}" for name in needed]
        commands = [f"`lmrbench evaluate {out}{config}{_dataset_option(dataset)}`" for config in chosen]
        put(f"{out}: {len(found)} rows added{instead}; evaluate them with {' and '.join(commands)}")


def _dataset_option(dataset: str) -> str:
    """Return the option that a further command needs to use the same dataset."""
    return "" if dataset == EMBEDDED else f" --dataset {dataset}"
