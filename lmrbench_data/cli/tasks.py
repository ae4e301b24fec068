"""`lmrbench tasks`: list, show, start and lint tasks."""

from typing import Annotated

import typer

from .options import BenchmarkFolder, Config, TaskNames, Track, tasks_and_drafts
from .output import Json, print_json, print_lines, put
from .show_task import print_instances

app = typer.Typer(help="List, show, start and lint tasks.", no_args_is_help=True)


@app.command("list")
def list_tasks(config: Config = "function", benchmark: BenchmarkFolder = None, as_json: Json = False) -> None:
    """List all instances of a configuration.

    Each line has the year, category, goal functions, paper, size of the repository and the files that a solution needs.

    Drafts (tasks with a TODO and no recording) are left out; a warning lists them. Narrow terminals show fewer columns;
    --json and `tasks show ID` show everything.

    Example: lmrbench tasks list --json
    """
    from ..tasks.overview import goal_text, task_facts

    rows = task_facts(tasks_and_drafts(None, benchmark, config)[0])
    if as_json:
        print_json(rows)
        return
    header = ("instance_id", "year", "category", "goal", "paper", "files", "lines", "depends_on")
    shown = [{**row, "depends_on": " ".join(row["depends_on"]) or "-", "goal": goal_text(row["goals"])} for row in rows]
    print_lines(header, [[str(row[name]) for name in header] for row in shown])


@app.command()
def page(
    check: Annotated[bool, typer.Option("--check", help="Only check whether the page is up to date.")] = False,
    benchmark: BenchmarkFolder = None,
) -> None:
    """Write README.md, the page about all tasks.

    Also draws the figure on that page.

    Example: lmrbench tasks page --check
    """
    from ..tasks.overview import check_page, write_page

    tasks, _ = tasks_and_drafts(None, benchmark)
    if check:
        check_page(tasks)
    else:
        put(f"written: {', '.join(map(str, write_page(tasks)))}")


@app.command()
def show(
    instance: Annotated[str, typer.Argument(help="Instance id or task folder.", metavar="ID")],
    track: Track = "paper",
    benchmark: BenchmarkFolder = None,
    as_json: Json = False,
) -> None:
    """Show an instance as a model sees it.

    Prints the instruction, the paper and the masked files, and in the contract track also prints the contract. In a
    terminal it renders Markdown, and shows what is longer than the screen through $PAGER.

    Example: lmrbench tasks show dpo-preference-loss --track contract
    """
    from lmrbench_evaluate.predictions.prediction import check_track

    from ..tasks.instance_view import view_instances

    check_track(track)
    shown = view_instances(instance, track, benchmark)
    if as_json:
        print_json(shown)
    else:
        print_instances(shown)


@app.command()
def lint(names: TaskNames = None, benchmark: BenchmarkFolder = None, as_json: Json = False) -> None:
    """Check task folders without running anything.

    Reports malformed or overlong files, leaked solutions, and problems with cases and variants.

    Finds in a second what `dataset build` and `dataset check` report later. Only `dataset check` proves that a task is
    sound.

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
    slug: Annotated[str, typer.Argument(help="Name of the folder, NN-SLUG, and of its first instance.")],
    benchmark: BenchmarkFolder = None,
    as_json: Json = False,
) -> None:
    """Start a task: copy a template with TODO marks into the next task folder.

    Overwrites nothing. `lmrbench tasks lint` then lists what is missing.

    Example: lmrbench tasks new nucleus --benchmark tasks
    """
    from ..tasks.new import new_task

    folder = new_task(slug, benchmark)
    if as_json:
        print_json({"folder": str(folder)})
        return
    put(f"written: {folder}")
    option = f" --benchmark {benchmark}" if benchmark else ""
    put(f"next: copy the repository to {folder / 'repo'}, replace each TODO, then `lmrbench tasks lint{option}`")
