"""Separate drafts from finished tasks, so that a draft does not block the others."""

import re
from collections.abc import Iterator
from pathlib import Path

from ..base.errors import InputError
from ..base.paths import benchmark_folder, benchmark_option
from ..base.problems import Problem, Severity
from ..base.strict_yaml import read_yaml, violations
from ..base.text import cut
from ..loader import FUNCTION
from .task import RECORDED, Task
from .task_folders import SCHEMA, build_task, load_tasks, task_folders

_TODO = re.compile(r"\bTODO\b")


def load_finished(benchmark: Path | None = None, config: str = FUNCTION) -> tuple[list[Task], list[Problem]]:
    """Load the finished tasks; return them with a warning for each draft.

    Raises:
        InputError: a task is malformed, an instance id is a duplicate, or there are only drafts.
    """
    benchmark = benchmark or benchmark_folder()
    folders = task_folders(benchmark)
    drafts = [folder.name for folder in folders if is_draft(folder)]
    finished = [folder.name for folder in folders if folder.name not in drafts]
    lint = f"`lmrbench tasks lint{benchmark_option(benchmark)}` lists what is left to do"
    if not finished:
        raise InputError(f"{benchmark}: contains only drafts ({', '.join(drafts)}); {lint}, or name the task you mean")
    warnings = [Problem(name, "", f"draft, left out; {lint}", Severity.WARNING) for name in drafts]
    return load_tasks(finished, benchmark, config), warnings


def is_draft(folder: Path) -> bool:
    """Whether a task contains a TODO and was never recorded.

    A recorded task may be in a published dataset, so a build must not leave it out as a draft.
    """
    return not any((folder / RECORDED).glob("*")) and any(todo_marks(folder))


def load_draft(folder: Path) -> Task | None:
    """Load a task whose task.yaml has only invalid words, such as TODO for a category; None if more is wrong."""
    try:
        data = read_yaml(folder / "task.yaml")
        if any(found.word is None for found in violations(data, SCHEMA)):
            return None
        return build_task(folder, data)
    except InputError:
        return None


def todo_marks(folder: Path) -> Iterator[tuple[Path, int, str]]:
    """Yield (file, line number, text) of each TODO in a task's texts, cases and variants."""
    paths = [folder / "task.yaml", folder / "paper.md", *sorted(folder.glob("unit_test/**/*.py"))]
    for path in [*paths, *sorted(folder.glob("variants/**/*.py"))]:
        if not path.is_file():
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1):
            if found := _TODO.search(line):
                yield path, number, cut(line[found.end() :].strip(" :#"), 100)
