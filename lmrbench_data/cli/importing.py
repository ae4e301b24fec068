"""`lmrbench import`: results from elsewhere in our formats."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..base.problems import problem_lines
from ..base.text import counted
from .output import Json, print_json, print_table, put
from .progress import progress_bar

if TYPE_CHECKING:
    from ..original.importer import ImportSummary

app = typer.Typer(no_args_is_help=True, help="Import results from elsewhere.")

#: Maximum number of problems printed without `--all`.
MAX_SHOWN = 40


@app.command("lmr-bench-original")
def original(
    clone: Annotated[Path, typer.Argument(help="Clone of the original repository.", metavar="DIR")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder to write; an earlier import is updated.")],
    show_all: Annotated[bool, typer.Option("--all", help="Print all problems instead of the first 40.")] = False,
    as_json: Json = False,
) -> None:
    """Import the results of the original LMR-Bench release.

    Imports test results, human labels, and the sessions and answers of agents.

    Results become run folders for `lmrbench report`; they are marked as imported, are never official, and never share a
    table with runs on our tasks. Answers of agents are rebuilt from the edits in their sessions, so that judges and
    analyses can read them. Answers whose function matches our interface are also written to OUT/evaluable.jsonl, which
    `lmrbench evaluate` accepts. Problems in the clone are listed by task, here and in import.json.

    Example: lmrbench import lmr-bench-original LMR-Bench --out original
    """
    from ..original.importer import import_original

    with progress_bar("importing", shown=not as_json) as progress:
        summary = import_original(clone, out, progress)
    if as_json:
        print_json(summary.as_dict())
    else:
        _print(summary, show_all)


def _print(summary: "ImportSummary", show_all: bool) -> None:
    header = (
        "task",
        "function",
        "instance",
        "tests",
        "judged",
        "labels",
        "sessions",
        "answers",
        "evaluable",
        "problems",
    )
    cells = []
    for task in summary.tasks:
        counts = task.unit_tests, task.judgements, task.labels, task.sessions, task.answers
        numbers = [*map(str, counts), "yes" if task.is_evaluable else "no", str(task.problems)]
        cells.append([task.task, str(task.function_index), task.instance_id, *numbers])
    print_table(header, cells, title="Imported")
    if summary.problems:
        put(f"{counted(len(summary.problems), 'problem')} ({summary.out}/import.json; --all prints all)")
        for line in problem_lines(summary.problems, limit=None if show_all else MAX_SHOWN):
            put(line)
    put("")
    put(f"{counted(len(summary.runs), 'run')} in {summary.out}/runs: imported, not official")
    if summary.labels:
        put(f"{counted(summary.labels, 'human label')} in {summary.out}/annotations.jsonl")
    if summary.sessions or summary.sessions_not_counted:
        left = f"; {summary.sessions_not_counted} more not counted" if summary.sessions_not_counted else ""
        put(f"{counted(summary.sessions, 'session')} in {summary.out}/trajectories and actions.csv{left}")
    if summary.answers:
        ways = ", ".join(f"{count} {way}" for way, count in sorted(summary.answers.items()))
        put(f"answers: {ways} ({summary.out}/answers.csv)")
    if summary.evaluable:
        put(f"{counted(summary.evaluable, 'answer')} in {summary.out}/evaluable.jsonl, for `lmrbench evaluate`")
    if summary.runs:
        labels = f" --labels {summary.out}/annotations.jsonl" if summary.labels else ""
        put(f"next: lmrbench report {summary.out}/runs/*{labels}")
