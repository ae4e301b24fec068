"""Drafts of tasks: start a benchmark or a task, and keep unfinished tasks apart from the others.

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
from ..base.text import cut, split_text
from .manifest import LMR_BENCH
from .problems import Problem, Severity
from .task import RECORDED, Task
from .task_folders import load_tasks, task_folders

_TEMPLATE = Path(__file__).with_name("template")
_TODO = re.compile(r"\bTODO\b")
_GIT_RULES = """# The bytes of a task count in the dataset's hash: git never converts line ends.
* -text
"""


def load_finished(benchmark: Path | None, config: str) -> tuple[list[Task], list[Problem]]:
    """Load the finished tasks; return them with a warning for each draft, which has TODO marks."""
    benchmark = benchmark or benchmark_folder()
    lint = f"`lmrbench tasks lint{benchmark_option(benchmark)}` lists what is left to do"
    folders = task_folders(benchmark)
    drafts = []
    for folder in folders:
        # A recorded task may be in a published dataset, so a build must not leave it out.
        if not matching(folder / RECORDED, "*") and any(todo_marks(folder)):
            drafts.append(folder.name)
    finished = [folder.name for folder in folders if folder.name not in drafts]
    if not finished:
        raise InputError(
            f"{benchmark}: contains only drafts ({', '.join(drafts)}); {lint}, "
            "or name the task you mean"
        )
    warnings = [Problem(name, "", f"draft, left out; {lint}", Severity.WARNING) for name in drafts]
    return load_tasks(finished, benchmark, config), warnings


def todo_marks(folder: Path) -> Iterator[tuple[Path, int, str]]:
    """Yield (file, line number, text) of each TODO in a task's texts, cases and variants."""
    paths = [folder / "task.yaml", folder / "paper.md"]
    paths += matching(folder, "unit_test/**/*.py") + matching(folder, "variants/**/*.py")
    for path in filter(Path.is_file, paths):
        lines = split_text(path.read_text(encoding="utf-8", errors="replace"))
        for number, line in enumerate(lines, start=1):
            if mark := _TODO.search(line):
                yield path, number, cut(line[mark.end() :].strip(" :#"), 100)


def new_task(slug: str, benchmark: Path | None) -> Path:
    """Copy the template into the next task folder, NN-SLUG, of a benchmark; return the folder."""
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
        raise ArgumentError(
            "benchmark",
            f"{benchmark} has no benchmark.yaml; `lmrbench dataset init {benchmark}` makes one",
        )
    folder = benchmark / f"{_last_number(benchmark) + 1:02d}-{slug}"
    for path in matching(_TEMPLATE, "**/*.*"):
        target = folder / path.relative_to(_TEMPLATE)
        write_atomically(target, path.read_text(encoding="utf-8").replace("SLUG", slug))
    return folder


def _last_number(benchmark: Path) -> int:
    """Return the largest number of a task's folder, NN-slug."""
    prefixes = [path.name.partition("-")[0] for path in benchmark.glob("*-*")]
    return max((int(prefix) for prefix in prefixes if prefix.isdecimal()), default=0)


def new_benchmark(folder: Path, *, title: str, name: str = "") -> Path:
    """Write benchmark.yaml, environments/ and .gitattributes into a folder without a benchmark.

    The environments are copies, so the images that exist already are used.

    Args:
        title: the benchmark's title for readers, at the top of its card.
        name: name of the dataset folder to build (default: that of the folder).
    """
    if (folder / "benchmark.yaml").exists() or (folder / "environments").exists():
        raise InputError(f"{folder}: is already a benchmark; nothing is overwritten")
    if not title.strip():
        raise ArgumentError("title", "is empty; name the benchmark for its readers")
    plain = re.sub(r"[^a-z0-9._-]+", "-", folder.resolve().name.lower()).strip("-._")
    manifest = _manifest(name or plain, " ".join(title.split()))
    try:
        shutil.copytree(benchmark_folder() / "environments", folder / "environments")
        write_atomically(folder / "benchmark.yaml", manifest)
    except OSError:
        # Half of it would pass for a benchmark.
        shutil.rmtree(folder / "environments", ignore_errors=True)
        raise
    if not (folder / ".gitattributes").exists():
        write_atomically(folder / ".gitattributes", _GIT_RULES)
    return folder


def _manifest(name: str, title: str) -> str:
    if not re.fullmatch(r"[a-z0-9][a-z0-9._-]*", name) or name == LMR_BENCH:
        raise ArgumentError("name", f"{name!r}: choose one of your own, of the form my-bench")
    facts = {
        "name": name,
        "title": title,
        "version": "0.1.0",
        "date": datetime.now(UTC).date().isoformat(),
        "canary": f"{name} canary GUID {uuid.uuid4()}",
    }
    text = (
        "# The benchmark as a whole. The version changes whenever a row does; the canary never.\n"
    )
    for key, value in facts.items():
        text += f"{key}: {json.dumps(value, ensure_ascii=False)}\n"
    return text
