"""Drafts of tasks: start a benchmark or a task, and keep unfinished tasks apart, so that they do not block the others.

A new task is a copy of the template, whose TODO marks say what to write.
"""

import json
import re
import shutil
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from ..base.archive import matching
from ..base.errors import ArgumentError, InputError
from ..base.files import write_atomically
from ..base.paths import benchmark_folder, benchmark_option, has_variants
from ..base.problems import Problem, Severity
from ..base.text import cut, split_text
from ..loader import FUNCTION
from .task import RECORDED, Task
from .task_folders import load_tasks, task_folders

_TEMPLATE = Path(__file__).with_name("template")
_TODO = re.compile(r"\bTODO\b")


def load_finished(
    benchmark: Path | None = None, config: str = FUNCTION
) -> tuple[list[Task], list[Problem]]:
    """Load the finished tasks; return them with a warning for each draft."""
    benchmark = benchmark or benchmark_folder()
    folders = task_folders(benchmark)
    # A recorded task may be in a published dataset, so a build must not leave it out as a draft.
    unrecorded = [folder for folder in folders if not matching(folder / RECORDED, "*")]
    drafts = [folder.name for folder in unrecorded if any(todo_marks(folder))]
    finished = [folder.name for folder in folders if folder.name not in drafts]
    lint = f"`lmrbench tasks lint{benchmark_option(benchmark)}` lists what is left to do"
    if not finished:
        raise InputError(
            f"{benchmark}: contains only drafts ({', '.join(drafts)}); {lint}, or name the task you mean"
        )
    warnings = [Problem(name, "", f"draft, left out; {lint}", Severity.WARNING) for name in drafts]
    return load_tasks(finished, benchmark, config), warnings


def todo_marks(folder: Path) -> Iterator[tuple[Path, int, str]]:
    """Yield (file, line number, text) of each TODO in a task's texts, cases and variants."""
    paths = [folder / "task.yaml", folder / "paper.md", *matching(folder, "unit_test/**/*.py")]
    for path in [*paths, *matching(folder, "variants/**/*.py")]:
        if not path.is_file():
            continue
        for number, line in enumerate(
            split_text(path.read_text(encoding="utf-8", errors="replace")), start=1
        ):
            if found := _TODO.search(line):
                yield path, number, cut(line[found.end() :].strip(" :#"), 100)


def new_task(slug: str, benchmark: Path | None = None) -> Path:
    """Copy the template into the next task folder, NN-SLUG, of a benchmark with benchmark.yaml; return the folder."""
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", slug):
        raise ArgumentError(
            "slug", f"{slug!r}: use lower-case letters, digits and single hyphens, such as nucleus"
        )
    benchmark = benchmark or benchmark_folder()
    if not has_variants(benchmark):  # a wheel
        raise ArgumentError(
            "benchmark",
            "is missing; `lmrbench dataset init DIR` makes a folder for tasks of your own",
        )
    if not (benchmark / "benchmark.yaml").is_file():
        message = (
            f"{benchmark} has no benchmark.yaml; `lmrbench dataset init {benchmark}` makes one"
        )
        raise ArgumentError("benchmark", message)
    numbers = [
        int(match[1]) for path in benchmark.iterdir() if (match := re.match(r"(\d+)-", path.name))
    ]
    folder = benchmark / f"{max(numbers, default=0) + 1:02d}-{slug}"
    for path in sorted(_TEMPLATE.rglob("*.*")):
        if path.is_file() and "__pycache__" not in path.parts:
            target = folder / path.relative_to(_TEMPLATE)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(
                path.read_text(encoding="utf-8").replace("SLUG", slug), encoding="utf-8"
            )
    return folder


def new_benchmark(folder: Path, *, title: str, name: str = "") -> Path:
    """Write benchmark.yaml, environments/ and .gitattributes into a folder without a benchmark; return the folder.

    The environments are copies, so the images that exist already are used.

    Args:
        title: the benchmark's title for readers, at the top of its card.
        name: name of the dataset folder to build (default: that of the folder).
    """
    if (folder / "benchmark.yaml").exists() or (folder / "environments").exists():
        raise InputError(f"{folder}: is already a benchmark; nothing is overwritten")
    name = name or re.sub(r"[^a-z0-9._-]+", "-", folder.resolve().name.lower()).strip("-._")
    if not re.fullmatch(r"[a-z0-9][a-z0-9._-]*", name) or name == "lmr-bench":
        raise ArgumentError("name", f"{name!r}: choose one of your own, of the form my-bench")
    if not title.strip():
        raise ArgumentError("title", "is empty")
    shutil.copytree(benchmark_folder() / "environments", folder / "environments")
    facts = {
        "name": name,
        "title": " ".join(title.split()),
        "version": "0.1.0",
        "date": datetime.now(UTC).date().isoformat(),
        "canary": f"{name} canary GUID {uuid.uuid4()}",
    }
    head = "# The benchmark as a whole. The version changes whenever a row does; the canary is fixed for ever.\n"
    lines = [f"{key}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in facts.items()]
    write_atomically(folder / "benchmark.yaml", head + "".join(lines))
    if not (folder / ".gitattributes").exists():
        rule = "# The bytes of a task count in the dataset's hash: git never converts line ends.\n* -text\n"
        write_atomically(folder / ".gitattributes", rule)
    return folder
