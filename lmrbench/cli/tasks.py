"""`lmrbench tasks` and `export`: list, show, start and lint tasks; export them for harnesses."""

from collections.abc import Iterable, Iterator
from typing import Annotated, Any

import typer

from lmrbench_data.base.text import plural
from lmrbench_data.tasks.drafts import new_task
from lmrbench_evaluate.reports.text_table import Table

from ..export.settings import HarborSettings
from .options import MAINTAIN, BenchmarkFolder, Config, TaskNames, Track, options, tasks_and_drafts
from .output import Json, emit, print_out, progress_bar

app = typer.Typer(help="List, show, start and lint tasks.", no_args_is_help=True)

#: Texts of an instance and their headings.
SECTIONS = {"instruction": "Instruction", "contract": "Contract", "paper_text": "Paper"}


@app.command("list")
def list_tasks(
    config: Config = "function", benchmark: BenchmarkFolder = None, as_json: Json = False
) -> None:
    """List all instances of a configuration.

    Shows goal functions by category; --json adds file, paper, year, the size of the repository and
    what it depends on.

    Drafts (tasks with a TODO and no recording) are left out; a warning lists them.

    Example: lmrbench tasks list --json
    """
    from lmrbench_data.tasks.overview import task_facts

    tasks, _ = tasks_and_drafts(None, benchmark, config)
    rows = task_facts(tasks)
    emit(rows, as_json, *_goal_tables(rows))


def _goal_tables(rows: Iterable[dict[str, Any]]) -> Iterator[tuple[str, Table]]:
    """Yield the goals of each category, without the file: a row fits a line."""
    from lmrbench_data.tasks.overview import goal_text

    goals: dict[str, list[list[str]]] = {}
    for row in rows:
        function = goal_text(row["goals"]).rpartition(":")[2]
        goals.setdefault(row["category"], []).append([row["instance_id"], function])
    for category in sorted(goals):
        yield category, (["instance_id", "goal"], goals[category])


@app.command(rich_help_panel=MAINTAIN)
def page(benchmark: BenchmarkFolder = None) -> None:
    """Write README.md, the page about all tasks.

    Example: lmrbench tasks page --benchmark tasks
    """
    from lmrbench_data.tasks.overview import PAGE, render_page

    tasks, _ = tasks_and_drafts(None, benchmark)
    path = tasks[0].folder.parent / PAGE
    path.write_text(render_page(tasks), encoding="utf-8")
    print_out(f"written: {path}")


@app.command()
def show(
    instance: Annotated[str, typer.Argument(help="Instance id or task folder.", metavar="ID")],
    track: Track = "paper",
    benchmark: BenchmarkFolder = None,
    as_json: Json = False,
) -> None:
    """Show an instance as a model sees it.

    Prints the instruction, the paper and the masked files as Markdown, and in the contract track
    also the contract.

    Example: lmrbench tasks show dpo-preference-loss --track contract
    """
    from lmrbench_data.tasks.overview import view_instances

    shown = view_instances(instance, track, benchmark)
    emit(shown, as_json, "\n\n".join(part for item in shown for part in _paragraphs(item)))


def _paragraphs(item: dict[str, Any]) -> Iterator[str]:
    yield f"# {item['instance_id']}"
    yield f"{item['category']}: {item['paper']['title']}"
    for key, title in SECTIONS.items():
        if key in item:
            yield f"# {title}"
            yield item[key].strip()
    yield "# Repository"
    yield "\n".join(f"    {name}" for name in item["repository"])
    for name, text in item["masked_files"].items():
        yield from _masked_file(name, text, item["goals"][name])


def _masked_file(name: str, text: str, goals: Iterable[str]) -> Iterator[str]:
    yield f"# `{name}` (masked: {', '.join(goals)})"
    yield f"````python\n{text}\n````"


@app.command()
def lint(names: TaskNames = None, benchmark: BenchmarkFolder = None, as_json: Json = False) -> None:
    """Check task folders without running anything.

    Reports malformed or overlong files, leaked solutions, and problems with cases and variants.

    Finds in a second what `dataset build` and `dataset check` report later. Only `dataset check`
    proves that a task is sound.

    Example: lmrbench tasks lint 01-dpo
    """
    from ..checks.lint import lint_tasks

    tasks, problems = lint_tasks(names or (), benchmark)
    count = plural(len(problems), "problem") if problems else "no problems"
    summary = f"{plural(tasks, 'task')}, {count}"
    as_dicts = [problem.as_dict() for problem in problems]
    emit(as_dicts, as_json, *map(str, problems), summary)
    if problems:
        raise typer.Exit(1)


@app.command()
def new(
    slug: Annotated[
        str, typer.Argument(help="Name of the folder, NN-SLUG, and of its first instance.")
    ],
    benchmark: BenchmarkFolder = None,
) -> None:
    """Start a task from a template.

    Copies a template with TODO marks into the next task folder and overwrites nothing. `lmrbench
    tasks lint` then lists what is missing.

    Example: lmrbench tasks new nucleus --benchmark tasks
    """
    folder = new_task(slug, benchmark)
    lint = "lmrbench tasks lint"
    if benchmark:
        lint += f" --benchmark {benchmark}"
    print_out(f"written: {folder}")
    print_out(f"next: copy the repository to {folder / 'repo'}, replace each TODO, then `{lint}`")


export = typer.Typer(help="Export tasks for Harbor.", no_args_is_help=True)


@export.command()
@options(HarborSettings)
def harbor(settings: HarborSettings, as_json: Json = False) -> None:
    """Write a task folder for Harbor per instance.

    Each folder has the workspace, the reference and a verifier that gives our verdict as rewards.
    The folders hold the hidden tests and the answers.

    Example: lmrbench export harbor tasks --config method
    """
    from ..export.harbor import export_harbor

    with progress_bar("tasks") as progress:
        instances = export_harbor(settings, progress)
    emit(
        {"folder": str(settings.out), "instances": instances},
        as_json,
        f"{settings.out}: {plural(len(instances), 'task')}",
        f"run with: harbor run -p {settings.out} -a AGENT -m MODEL",
    )
