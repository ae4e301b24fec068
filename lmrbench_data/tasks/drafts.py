"""Tell tasks that were begun from those that are finished, so that a draft does not keep the others from their work."""

import re
from collections.abc import Iterator
from pathlib import Path

from ..base.errors import InputError
from ..base.paths import benchmark_folder, benchmark_option
from ..base.strict_yaml import faults, read_yaml
from ..base.text import cut
from .task import RECORDED, SCHEMA, Task, load_tasks, task_folders, task_of

_TODO = re.compile(r"\bTODO\b")


def load_finished(benchmark: Path | None = None) -> tuple[list[Task], list[str]]:
    """(all tasks that are no drafts, the folders of the drafts).

    Raises:
        InputError: a task is malformed, a duplicate instance id, or there are only drafts.
    """
    benchmark = benchmark or benchmark_folder()
    folders = task_folders(benchmark)
    drafts = [folder.name for folder in folders if is_draft(folder)]
    finished = [folder.name for folder in folders if folder.name not in drafts]
    if not finished:
        lint = f"`lmrbench tasks lint{benchmark_option(benchmark)}` lists what is missing"
        raise InputError(f"{benchmark}: only drafts are in it ({', '.join(drafts)}); {lint}, or name the one you mean")
    return load_tasks(finished, benchmark), drafts


def is_draft(folder: Path) -> bool:
    """Whether a task was begun and not finished: a TODO is left in it, and it was never recorded.

    What was recorded once may be in a dataset already, so it is never taken for a draft and left out of the next build.
    """
    return not any((folder / RECORDED).glob("*")) and any(todo_marks(folder))


def load_draft(folder: Path) -> Task | None:
    """A task in whose task.yaml only words are wrong, such as TODO for a category; None if more is."""
    try:
        data = read_yaml(folder / "task.yaml")
        if any(fault.word is None for fault in faults(data, SCHEMA)):
            return None
        return task_of(folder, data)
    except InputError:
        return None


def todo_marks(folder: Path) -> Iterator[tuple[Path, int, str]]:
    """(file, number of the line, what it says to do) of each TODO in a task's words, cases and variants."""
    paths = [folder / "task.yaml", folder / "paper.md", *sorted(folder.glob("unit_test/**/*.py"))]
    for path in [*paths, *sorted(folder.glob("variants/**/*.py"))]:
        if not path.is_file():
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1):
            if found := _TODO.search(line):
                yield path, number, cut(line[found.end() :].strip(" :#"), 100)
