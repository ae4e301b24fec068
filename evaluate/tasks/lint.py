"""Look at tasks without running anything: what `dataset build` and `dataset check` would only say later, in a second.

A task without a problem here is in good form; that it is sound is proved by `dataset check` alone.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...build import load_benchmark
from ...environments import load_environments
from ...errors import InputError
from ...paths import benchmark_folder
from ...tasks import Implementation, Task, load_task
from .faults import Secrets, read_faults
from .lint_code import case_problems, repository_problems, variant_problems

#: Sentences of an instruction.
MAX_SENTENCES = 4
#: Words of a contract: a longer one dictates the code.
MAX_CONTRACT = 400
#: Words of paper.md, which has one to two pages.
PAPER_WORDS = (150, 1500)
_TODO = re.compile(r"\bTODO\b")
_ABBREVIATIONS = re.compile(
    r"\b(?:Eqs?|Secs?|Sect|Figs?|Tab|Apps?|Algs?|Thm|Defs?|Prop|et al|e\.g|i\.e|vs|cf|resp|approx|No|pp?)\."
)
#: A setting such as `n = 1` is none.
_SETTING = re.compile(r"\b\w+ ?= ?\d[\d.]*")
_FORMULA = re.compile(r"\$|\\[a-zA-Z]+|[=≤≥∑∏∫√∈]")
#: Values of `license` that name none.
_NO_LICENCE = {"none", "other", "unknown", "proprietary", "todo"}


@dataclass(frozen=True)
class Problem:
    """Something to mend."""

    task: str
    """Its folder's name; empty for the benchmark as a whole."""
    place: str
    """File, with line where there is one, or key of task.yaml, with the instance where the task has several."""
    message: str


def lint_tasks(names: Collection[str] = (), benchmark: Path | None = None) -> tuple[int, list[Problem]]:
    """(how many tasks were looked at, their problems in order of the folders).

    Args:
        names: folder names or instance ids; all if empty.
        benchmark: the folder that holds them; the installed one if None.

    Raises:
        InputError: no tasks there, or a name is unknown.
    """
    folder = benchmark or benchmark_folder()
    folders = sorted(path.parent for path in folder.glob("*/task.yaml"))
    if not folders:
        raise InputError(f"{folder}: no task folders (NN-slug/task.yaml) in it; `lmrbench tasks new` drafts one")
    tasks: dict[str, Task] = {}
    broken: dict[str, str] = {}
    for path in folders:
        try:
            tasks[path.name] = load_task(path)
        except InputError as error:
            broken[path.name] = str(error)
    ids = {item.instance_id: name for name, task in tasks.items() for item in task.implementations}
    if unknown := set(names) - {path.name for path in folders} - ids.keys():
        hint = f"; {', '.join(broken)} cannot be read" if broken else ""
        raise InputError(f"unknown task or instance: {', '.join(sorted(unknown))}{hint}")
    chosen = [path for path in folders if not names or path.name in {ids.get(name, name) for name in names}]
    secrets = Secrets.of_tasks(tasks.values())
    problems = list(_benchmark_problems(folder))
    for path in chosen:
        problems += _todo_problems(path)
        if path.name in broken:
            problems.append(_load_problem(path, broken[path.name]))
        else:
            problems += _task_problems(tasks[path.name], tasks, secrets)
    return len(chosen), problems


def instruction_problems(text: str, goal_file: str, goal_function: str) -> list[str]:
    """What is wrong with the form of an instruction; its length in words is told by `faults.py`."""
    found = []
    prose = re.sub(r"`[^`]*`", "x", text)
    sentences = len(re.findall(r"[.!?](?=[\s)]|$)", _ABBREVIATIONS.sub("x", prose).strip()))
    if not 1 <= sentences <= MAX_SENTENCES:
        found.append(f"{sentences} sentences; it has one to {MAX_SENTENCES}")
    if formula := _FORMULA.search(_SETTING.sub("x", prose)):
        found.append(f"holds a formula ({formula.group()}); name the paper's equation instead")
    quoted = " ".join(re.findall(r"`([^`]*)`", text))
    if goal_file not in quoted:
        found.append(f"does not name `{goal_file}`")
    if not any(part in quoted for part in goal_function.split(".")):
        found.append(f"does not name `{goal_function}`")
    return found


def _todo_problems(folder: Path) -> Iterator[Problem]:
    """Marks that `tasks new` has left."""
    paths = [folder / "task.yaml", folder / "paper.md", *sorted(folder.glob("unit_test/**/*.py"))]
    for path in [*paths, *sorted(folder.glob("variants/**/*.py"))]:
        if not path.is_file():
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1):
            if found := _TODO.search(line):
                place = f"{path.relative_to(folder)}:{number}"
                what = line[found.end() :].strip(" :#")[:100]
                yield Problem(folder.name, place, f"left to do: {what}" if what else "left to do")


def _load_problem(folder: Path, error: str) -> Problem:
    """An error that names file and place, told from inside the task's folder."""
    place, _, message = error.removeprefix(f"{folder}/").partition(": ")
    return Problem(folder.name, place, message)


def _benchmark_problems(folder: Path) -> Iterator[Problem]:
    """What is wrong with the benchmark as a whole."""
    try:
        benchmark, installed = load_benchmark(folder), load_benchmark()
        load_environments(folder)
    except InputError as error:
        yield Problem("", "", str(error))
        return
    if not benchmark.is_lmr_bench and benchmark.canary == installed.canary:
        yield Problem("", "benchmark.yaml", "canary: is LMR-Bench's; a benchmark of its own needs a GUID of its own")


def _task_problems(task: Task, others: dict[str, Task], secrets: Secrets) -> Iterator[Problem]:
    """All of a task that can be read."""

    def problem(place: str, message: str) -> Problem:
        return Problem(task.name, place, message)

    if not re.fullmatch(r"\d\d+-[a-z0-9-]+", task.name):
        yield problem("", "the folder's name is not of the form NN-slug")
    try:
        tag = task.image_tag
    except InputError as error:
        yield _load_problem(task.folder, str(error))
        tag = ""
    if task.license.casefold() in _NO_LICENCE or not re.fullmatch(r"[a-z0-9][a-z0-9.+-]*", task.license):
        yield problem("license", f"{task.license!r} is no SPDX identifier in lower case, such as mit or apache-2.0")
    stated = re.search(r"arxiv\.org/(?:abs|pdf)/(\d{4}\.\d{4,5})", task.paper["url"])
    if stated and stated[1] != task.paper["arxiv_id"]:
        yield problem("paper.arxiv_id", f"is {task.paper['arxiv_id']}, the address says {stated[1]}")
    for place, message in _paper_problems(task):
        yield problem(place, message)
    environment = load_environments(task.folder.parent)[task.environment] if tag else None
    for place, message in repository_problems(task, environment):
        yield problem(place, message)
    for item in task.implementations:
        several = f"{item.instance_id}: " if len(task.implementations) > 1 else ""
        for place, message in _instance_problems(task, item, others, secrets):
            yield problem(several + place, message)


def _paper_problems(task: Task) -> Iterator[tuple[str, str]]:
    words = len(task.paper_text.split())
    least, most = PAPER_WORDS
    if not least <= words <= most:
        yield "paper.md", f"{words} words; one to two pages have {least} to {most}"
    if re.search(r"^```(?:python|py)\b", task.paper_text, re.MULTILINE):
        yield "paper.md", "shows Python; say it in words and equations"
    for name in sorted({item.goal_file for item in task.implementations}):
        if re.search(rf"(?<![\w/]){re.escape(name)}\b", task.paper_text):
            yield "paper.md", f"names {name}: it says what the paper says and nothing about the repository"


def _instance_problems(
    task: Task, item: Implementation, others: dict[str, Task], secrets: Secrets
) -> Iterator[tuple[str, str]]:
    for other in others.values():
        if other.name != task.name and item.instance_id in {one.instance_id for one in other.implementations}:
            yield "instance_id", f"{item.instance_id!r} is taken by {other.name}; choose another"
    for message in instruction_problems(item.instruction, item.goal_file, item.goal_function):
        yield "instruction", message
    words = len(item.contract.split())
    if words > MAX_CONTRACT:
        yield "contract", f"{words} words, at most {MAX_CONTRACT}: it states conventions and no steps"
    if "```" in item.contract:
        yield "contract", "shows code; state the convention in words"
    if item.goal_file in item.context_files:
        yield "context_files", f"names the goal file {item.goal_file}, which is shown anyway"
    if len(item.tests.seeds) < 2:
        yield "tests.seeds", "needs two seeds or more: with one nobody can see which cases vary"
    yield from read_faults(task, item, secrets)
    yield from case_problems(task, item)
    yield from variant_problems(task, item)


def lines_of(problems: Sequence[Problem]) -> list[str]:
    """The problems as text, one a line."""
    return [": ".join(filter(None, (item.task or "the benchmark", item.place, item.message))) for item in problems]
