"""`lmrbench tasks`: look at the tasks of this installation."""

from typing import Annotated, Any

import typer

from lmrbench_data.cli.output import Json, print_json, print_table, put

app = typer.Typer(help="Look at the benchmark's tasks.", no_args_is_help=True)


@app.command("list")
def list_tasks(as_json: Json = False) -> None:
    """List all instances: category, paper, goal function, size of the repository."""
    from lmrbench_data.tasks import load_tasks

    rows = [
        {
            "instance_id": item.instance_id,
            "task": task.name,
            "category": item.category,
            "paper": task.paper["title"],
            "year": task.paper["year"],
            "goal": f"{item.goal_file}:{item.goal_function}",
            "files": len(task.repo),
            "lines": sum(file.data.count(b"\n") for name, file in task.repo.items() if name.endswith(".py")),
            "depends_on": list(item.depends_on),
        }
        for task in load_tasks()
        for item in task.implementations
    ]
    if as_json:
        print_json(rows)
        return
    header = ("instance_id", "category", "paper", "year", "goal", "files", "lines")
    print_table(header, [[str(row[name]) for name in header] for row in rows])


@app.command()
def show(
    instance: Annotated[str, typer.Argument(help="Instance id or task folder.", metavar="ID")], as_json: Json = False
) -> None:
    """Show an instance as a model sees it: instruction, paper, masked goal file."""
    from lmrbench_data.tasks import load_tasks

    shown: list[dict[str, Any]] = [
        {
            "instance_id": item.instance_id,
            "category": item.category,
            "paper": dict(task.paper),
            "instruction": item.instruction,
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
        put(f"INSTRUCTION\n{item['instruction']}\n\nPAPER\n{item['paper_text']}")
        put("REPOSITORY\n" + "\n".join(f"  {name}" for name in item["repository"]))
        put(f"\n{item['goal_file']} (masked)\n{item['masked_goal_file']}")
