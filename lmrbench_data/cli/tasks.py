"""`lmrbench tasks`: look at the tasks of this installation."""

from pathlib import Path
from typing import Annotated, Any

import typer

from .options import Track
from .output import Json, print_json, print_lines, put

app = typer.Typer(help="Look at the benchmark's tasks.", no_args_is_help=True)


@app.command("list")
def list_tasks(as_json: Json = False) -> None:
    """List all instances, one a line: year, category, goal function, paper, size of the repository, files to know.

    Columns that the terminal has no room for are left out; `tasks show ID` and --json tell everything.

    Example: lmrbench tasks list --json
    """
    from ..overview import task_facts
    from ..tasks import load_tasks

    rows = task_facts(load_tasks())
    if as_json:
        print_json(rows)
        return
    header = ("instance_id", "year", "category", "goal", "paper", "files", "lines", "depends_on")
    shown = [{**row, "depends_on": " ".join(row["depends_on"]) or "-"} for row in rows]
    print_lines(header, [[str(row[name]) for name in header] for row in shown])


@app.command()
def page(
    check: Annotated[bool, typer.Option("--check", help="Only say whether the page is up to date.")] = False,
    benchmark: Annotated[
        Path | None, typer.Option("--benchmark", help="Folder of tasks.", exists=True, file_okay=False)
    ] = None,
) -> None:
    """Write benchmark/README.md, the page about all tasks, and its picture.

    Example: lmrbench tasks page --check
    """
    from ..errors import InputError
    from ..overview import PAGE, PICTURE, draw_picture, render_page
    from ..paths import benchmark_folder
    from ..tasks import load_tasks

    folder = benchmark or benchmark_folder()
    tasks = load_tasks(benchmark=benchmark)
    path, text = folder / PAGE, render_page(tasks)
    if check:
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            raise InputError(f"{path}: is not up to date; run `lmrbench tasks page`")
        return
    path.write_text(text, encoding="utf-8")
    draw_picture(tasks, folder / PICTURE)
    put(f"written: {path}, {folder / PICTURE}")


@app.command()
def show(
    instance: Annotated[str, typer.Argument(help="Instance id or task folder.", metavar="ID")],
    track: Track = "paper",
    as_json: Json = False,
) -> None:
    """Show an instance as a model sees it: instruction, paper, masked goal file; in the contract track its contract.

    Example: lmrbench tasks show dpo-preference-loss --track contract
    """
    from ..evaluate.predictions import check_track
    from ..tasks import load_tasks

    check_track(track)
    shown: list[dict[str, Any]] = [
        {
            "instance_id": item.instance_id,
            "category": item.category,
            "paper": dict(task.paper),
            "instruction": item.instruction,
            **({"contract": item.contract} if track == "contract" else {}),
            "paper_text": task.paper_text,
            "goal_file": item.goal_file,
            "goal_function": item.goal_function,
            "context_files": list(item.context_files),
            "repository": sorted(task.repo),
            "masked_goal_file": task.masked_repo(item)[item.goal_file].data.decode("utf-8"),
        }
        for task in load_tasks([instance])
        for item in task.implementations
        if instance in (item.instance_id, task.name)
    ]
    if as_json:
        print_json(shown)
        return
    for item in shown:
        put(f"{item['instance_id']}  ({item['category']})\n{item['paper']['title']}\n")
        put(f"INSTRUCTION\n{item['instruction']}\n")
        if "contract" in item:
            put(f"CONTRACT\n{item['contract']}\n")
        put(f"PAPER\n{item['paper_text']}")
        put("REPOSITORY\n" + "\n".join(f"  {name}" for name in item["repository"]))
        put(f"\n{item['goal_file']} (masked)\n{item['masked_goal_file']}")
