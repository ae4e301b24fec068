"""`lmrbench agent`: workspaces for agents, and predictions from what they leave in them."""

from pathlib import Path
from typing import Annotated

import typer

from .generate import MaxCost, Name, Samples
from .model_options import BaseUrl, Instances, Model, Prices
from .options import DatasetSpec, Track, chosen_row
from .output import Json, interruptible, print_json, print_table, progress_bar, put, say

app = typer.Typer(help="Give instances to agents, and take their patches.", no_args_is_help=True)


@app.command()
def workspace(
    instance: Annotated[str, typer.Argument(help="Instance id.", metavar="ID")],
    folder: Annotated[Path, typer.Argument(help="New folder.", metavar="DIR")],
    track: Track = "paper",
    dataset: DatasetSpec = "embedded",
    as_json: Json = False,
) -> None:
    """Write what an agent may see of an instance: TASK.md, the paper, and the masked repository as a git repository.

    Example: lmrbench agent workspace dpo-preference-loss work/dpo
    """
    from ..evaluate.predictions import check_track
    from ..generate.workspace import write_workspace

    check_track(track)
    row = chosen_row(instance, dataset)
    write_workspace(row, folder, track=track)
    if as_json:
        print_json({"instance_id": instance, "track": track, "folder": str(folder)})
    else:
        put(f"{folder}: TASK.md says what is asked; `lmrbench agent collect {folder} --model NAME` takes the answer")


@app.command()
def run(
    agent: Annotated[
        str, typer.Option("--agent", "-a", help="mini-swe-agent, openhands, or a command that is run in the container.")
    ],
    model: Model,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for predictions.jsonl and trajectories.")],
    agent_files: Annotated[
        Path | None, typer.Option("--agent-files", help="Folder with the command's files; the container has a copy.")
    ] = None,
    name: Name = "",
    base_url: BaseUrl = None,
    track: Track = "paper",
    instance: Instances = None,
    samples: Samples = 1,
    workers: Annotated[int, typer.Option("--workers", "-w", min=1, max=256, help="Containers at a time.")] = 2,
    max_steps: Annotated[int, typer.Option("--max-steps", min=1, help="Answers of the model, for one row.")] = 100,
    prices: Prices = None,
    max_cost: MaxCost = None,
    timeout: Annotated[float, typer.Option("--timeout", min=1, help="Seconds for one row.")] = 1800.0,
    dataset: DatasetSpec = "embedded",
    as_json: Json = False,
) -> None:
    """Run an agent on each instance, in a container without a network, and keep what it changed as predictions.

    The key is read from OPENAI_API_KEY and stays outside. The same command again does only what is missing.

    Example: lmrbench agent run --agent mini-swe-agent --model gpt-5 --out runs/mini
    """
    import sys

    from .. import api
    from ..generate.agents.run import PREDICTIONS

    answers = out / PREDICTIONS
    watched = sys.stderr.isatty() and not as_json
    with interruptible(f"rows so far are in {answers}"), progress_bar("agents", shown=not as_json) as progress:
        summary = api.run_agent(
            agent,
            model,
            out,
            agent_files=agent_files,
            name=name,
            base_url=base_url,
            track=track,
            samples=samples,
            workers=workers,
            max_steps=max_steps,
            timeout_s=timeout,
            prices=prices,
            max_cost=max_cost,
            instances=instance or (),
            dataset=dataset,
            progress=progress,
            tell=(lambda line: None) if watched else say,
        )
    if as_json:
        print_json({"out": str(answers), **vars(summary), "complete": summary.complete})
    else:
        cost = "unknown" if summary.cost_usd is None else f"{summary.cost_usd:.4f} USD"
        table = [
            ["done now", str(summary.done)],
            ["there before", str(summary.kept)],
            ["nothing changed", str(summary.unchanged)],
            ["tokens in, out", f"{summary.input_tokens:,}, {summary.output_tokens:,}"],
            ["cost", cost],
        ]
        print_table(("rows", "number"), table)
        if summary.done or summary.kept:
            put(f"predictions: {answers}; evaluate them with `lmrbench evaluate {answers}`")
    if summary.stopped:
        say(f"incomplete: {summary.stopped}; rows so far are in {answers}")
    if summary.errors:
        say(f"incomplete: {summary.errors} rows could not be had ({summary.first_error})")
    if not summary.complete:
        say("the same command does what is missing, and only that")
        raise typer.Exit(3)


@app.command()
def image(
    agent: Annotated[str, typer.Argument(help="openhands.", metavar="AGENT")],
    dataset: DatasetSpec = "embedded",
    network: Annotated[str | None, typer.Option(help="Network of build steps, for example host.")] = None,
    as_json: Json = False,
) -> None:
    """Build the image of an agent that lives in the container: that of the tasks, with the agent in it.

    Example: lmrbench agent image openhands
    """
    from ..evaluate.sandbox.docker import connect, engine_errors
    from ..generate.agents.agent_image import agent_image, build_agent_image
    from ..loader import load_rows

    images = [agent_image(agent, base) for base in sorted({row["docker_image"] for row in load_rows(dataset)})]
    api, built = connect(), {}
    for item in images:
        say(f"building {item.tag}: about {item.disk_mb / 1000:.1f} GB of disk beside {item.base}")
        with engine_errors(f"building {item.tag}"):
            built[item.tag] = build_agent_image(api, agent, item.base, network=network)
    if as_json:
        print_json(built)
    else:
        for tag, identity in built.items():
            put(f"{tag}  {identity}")


@app.command()
def collect(
    folders: Annotated[list[Path], typer.Argument(help="Workspaces.", metavar="DIR...")],
    model: Annotated[str, typer.Option("--model", "-m", help="Name of the agent, as reports show it.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="File of predictions; rows are added to it.")] = Path(
        "predictions.jsonl"
    ),
    setting: Annotated[str, typer.Option("--setting", help="How the answers were made.")] = "agent",
    dataset: DatasetSpec = "embedded",
    as_json: Json = False,
) -> None:
    """Turn what agents changed in their workspaces into rows of predictions, one a workspace.

    Example: lmrbench agent collect work/* --model my-agent --out predictions.jsonl
    """
    import json

    from ..errors import InputError
    from ..generate.workspace import collect_patch, read_marker
    from ..loader import load_rows

    rows = {row["instance_id"]: row for row in load_rows(dataset)}
    samples: dict[tuple[str, str], int] = {}
    found = []
    for folder in folders:
        instance, track = read_marker(folder)
        if instance not in rows:
            raise InputError(
                f"{folder}: {instance!r} is not in the dataset {dataset!r}; name its dataset with --dataset"
            )
        sample = samples[instance, track] = samples.get((instance, track), -1) + 1
        patch = collect_patch(rows[instance], folder)
        row = {"instance_id": instance, "model_name_or_path": model, "setting": setting, "track": track}
        found.append({**row, "sample": sample, "model_patch": patch})
        if not patch:
            say(f"{folder}: nothing was changed; the row counts as malformed")
    with out.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in found)
    if as_json:
        print_json({"out": str(out), "rows": len(found), "empty": sum(not row["model_patch"] for row in found)})
    else:
        put(f"{out}: {len(found)} rows added; evaluate them with `lmrbench evaluate {out}`")
