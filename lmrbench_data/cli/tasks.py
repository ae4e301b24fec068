"""`lmrbench tasks`: look at tasks, draft a new one, and see what is left to do on it."""

from pathlib import Path
from typing import Annotated, Any

import typer

from .options import BenchmarkFolder, Track, tasks_and_drafts
from .output import Json, print_json, print_lines, put

app = typer.Typer(help="List, show, draft and lint tasks.", no_args_is_help=True)

Names = Annotated[list[str] | None, typer.Argument(help="Task folders or instance ids; all by default.")]


@app.command("list")
def list_tasks(benchmark: BenchmarkFolder = None, as_json: Json = False) -> None:
    """List all instances.

    Each line has the year, category, goal function, paper, size of the repository and the files to know.

    Drafts (tasks with a TODO in them that were never recorded) are left out; a warning names them.
    Columns that the terminal has no room for are left out; `tasks show ID` and --json tell everything.

    Example: lmrbench tasks list --json
    """
    from ..tasks.overview import task_facts

    rows = task_facts(tasks_and_drafts(None, benchmark)[0])
    if as_json:
        print_json(rows)
        return
    header = ("instance_id", "year", "category", "goal", "paper", "files", "lines", "depends_on")
    shown = [{**row, "depends_on": " ".join(row["depends_on"]) or "-"} for row in rows]
    print_lines(header, [[str(row[name]) for name in header] for row in shown])


@app.command()
def page(
    check: Annotated[bool, typer.Option("--check", help="Only say whether the page is up to date.")] = False,
    benchmark: BenchmarkFolder = None,
) -> None:
    """Write README.md, the page about all tasks.

    Its picture is drawn as well.

    Example: lmrbench tasks page --check
    """
    from ..base.errors import InputError
    from ..base.paths import benchmark_folder, benchmark_option
    from ..tasks.overview import PAGE, PICTURE, draw_picture, render_page

    folder = benchmark or benchmark_folder()
    tasks, _ = tasks_and_drafts(None, benchmark)
    path, text = folder / PAGE, render_page(tasks)
    if check:
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            raise InputError(f"{path}: is not up to date; run `lmrbench tasks page{benchmark_option(folder)}`")
        return
    path.write_text(text, encoding="utf-8")
    draw_picture(tasks, folder / PICTURE)
    put(f"written: {path}, {folder / PICTURE}")


@app.command()
def show(
    instance: Annotated[str, typer.Argument(help="Instance id or task folder.", metavar="ID")],
    track: Track = "paper",
    benchmark: BenchmarkFolder = None,
    as_json: Json = False,
) -> None:
    """Show an instance as a model sees it.

    Print instruction, paper and masked goal file; in the contract track also the contract.

    Example: lmrbench tasks show dpo-preference-loss --track contract
    """
    from lmrbench_evaluate.predictions.prediction import check_track

    from ..tasks.task_folders import load_tasks

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
        for task in load_tasks([instance], benchmark)
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


@app.command()
def lint(names: Names = None, benchmark: BenchmarkFolder = None, as_json: Json = False) -> None:
    """Check task folders without running anything.

    Report what is left to do about form, lengths, leaks, cases and variants.

    What `dataset build` and `dataset check` would only say later is said in a second. Whether a task is sound is for
    `dataset check` to prove.

    Example: lmrbench tasks lint 01-dpo
    """
    from lmrbench_evaluate.checks.lint import lint_tasks

    from ..base.problems import problem_lines
    from ..base.text import counted

    tasks, problems = lint_tasks(names or (), benchmark)
    if as_json:
        print_json([problem.as_dict() for problem in problems])
    else:
        for line in problem_lines(problems):
            put(line)
        put(f"{counted(tasks, 'task')}, {counted(len(problems), 'problem') if problems else 'no problems'}")
    if problems:
        raise typer.Exit(1)


@app.command()
def new(
    paper: Annotated[Path, typer.Option("--paper", help="The PDF.", exists=True, dir_okay=False)],
    repo: Annotated[Path, typer.Option("--repo", help="The repository with the method in it.", exists=True)],
    goal: Annotated[str, typer.Option("--goal", metavar="FILE::FUNCTION", help="FUNCTION may be Class.method.")],
    benchmark: BenchmarkFolder = None,
    slug: Annotated[str, typer.Option("--slug", help="Of the folder NN-slug; by default the repository's name.")] = "",
    model: Annotated[
        str, typer.Option("--model", "-m", help="Drafts the instruction, which is a template without it.")
    ] = "",
    base_url: Annotated[
        str | None, typer.Option("--base-url", help="OpenAI-compatible server; OPENAI_BASE_URL, else OpenAI.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Draft a task folder from a PDF and a repository.

    TODO marks what only a person can write.

    Nothing is overwritten, and nothing of the repository is run. `lmrbench tasks lint` then says what is left to do.

    Example: lmrbench tasks new --paper paper.pdf --repo ~/nucleus --goal decoding.py::filter --benchmark tasks
    """
    from ..draft.new_task import new_task

    drafted = new_task(
        paper=paper, repo=repo, goal=goal, benchmark=benchmark, slug=slug, model=model, base_url=base_url
    )
    if as_json:
        print_json(drafted.as_row())
        return
    put(f"drafted: {drafted.folder}")
    for line in drafted.notes:
        put(f"  {line}")
    option = f" --benchmark {benchmark}" if benchmark else ""
    put(f"next: fill in what is marked TODO, then `lmrbench tasks lint {drafted.folder.name}{option}`")
