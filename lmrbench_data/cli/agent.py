"""`lmrbench agent`: workspaces for agents, and predictions from what they leave in them."""

from pathlib import Path
from typing import Annotated

import typer

from .output import Json, print_json, put, say

app = typer.Typer(help="Give instances to agents, and take their patches.", no_args_is_help=True)

Track = Annotated[str, typer.Option("--track", help="paper, or contract: that one shows the contract, too.")]
DatasetSpec = Annotated[str, typer.Option("--dataset", help="embedded, a folder, or org/name[@revision].")]


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
    from ..errors import ArgumentError
    from ..evaluate.predictions import TRACKS
    from ..generate.workspace import write_workspace
    from ..loader import load_rows

    if track not in TRACKS:
        raise ArgumentError("track", f"{track!r} is unknown; one of: {', '.join(TRACKS)}")
    row = next((row for row in load_rows(dataset) if row["instance_id"] == instance), None)
    if row is None:
        raise ArgumentError("instance", f"{instance!r} is unknown; see `lmrbench tasks list`")
    write_workspace(row, folder, track=track)
    if as_json:
        print_json({"instance_id": instance, "track": track, "folder": str(folder)})
    else:
        put(f"{folder}: TASK.md says what is asked; `lmrbench agent collect {folder} --model NAME` takes the answer")


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
