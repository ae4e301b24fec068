"""Look at tasks without running anything: what `dataset build` and `dataset check` would only say later, in a second.

A task without a problem here is in good form; that it is sound is proved by `dataset check` alone.
"""

import dataclasses
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from lmrbench_data.base.errors import InputError
from lmrbench_data.base.passages import MAX_PASSAGE, read_passage
from lmrbench_data.base.paths import benchmark_folder
from lmrbench_data.base.strict_yaml import faults, read_yaml
from lmrbench_data.tasks.drafts import load_draft, todo_marks
from lmrbench_data.tasks.environments import load_environments
from lmrbench_data.tasks.manifest import load_benchmark
from lmrbench_data.tasks.task import (
    RECORDED,
    SCHEMA,
    Implementation,
    Task,
    read_tasks,
    stated_ids,
    task_folders,
    unknown_names,
)

from .faults import Secrets, read_faults
from .lint_code import case_problems, repository_problems, variant_problems

#: Sentences of an instruction.
MAX_SENTENCES = 4
#: Words of a contract: a longer one dictates the code.
MAX_CONTRACT = 400
#: Words of paper.md, which has one to two pages.
PAPER_WORDS = (150, 1500)
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
    tasks, broken = read_tasks(folder)
    known = {path.name: {path.name, *stated_ids(path)} for path in task_folders(folder)}
    if unknown := set(names).difference(*known.values()):
        raise unknown_names(unknown, folder)
    chosen = [folder / name for name, called in known.items() if not names or called & set(names)]
    drafts = {name: draft for name in broken if (draft := load_draft(folder / name))}
    readable = {**tasks, **drafts}
    secrets = Secrets.of_tasks(readable.values())
    problems = list(_benchmark_problems(folder))
    for path in chosen:
        problems += _todo_problems(path)
        if path.name in drafts:
            problems += _word_problems(path)
        elif path.name in broken:
            problem = _load_problem(path, str(broken[path.name]))
            problems.append(dataclasses.replace(problem, message=f"{problem.message}; more is checked then"))
        if path.name in readable:
            problems += _task_problems(readable[path.name], readable, secrets)
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
    for path, number, what in todo_marks(folder):
        place = f"{path.relative_to(folder)}:{number}"
        yield Problem(folder.name, place, f"left to do: {what}" if what else "left to do")


def _word_problems(folder: Path) -> Iterator[Problem]:
    """Words in task.yaml that are not what they have to be; a TODO is told by its line, unless there is a choice."""
    for fault in faults(read_yaml(folder / "task.yaml"), SCHEMA):
        if "TODO" not in (fault.word or "") or " is not one of: " in fault.message:
            yield Problem(folder.name, "task.yaml", f"{fault.place}: {fault.message}")


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
    unknown = task.license.casefold() in _NO_LICENCE or not re.fullmatch(r"[a-z0-9][a-z0-9.+-]*", task.license)
    if unknown and "TODO" not in task.license:
        yield problem("license", f"{task.license!r} is no SPDX identifier in lower case, such as mit or apache-2.0")
    stated = re.search(r"arxiv\.org/(?:abs|pdf)/(\d{4}\.\d{4,5})", task.paper["url"])
    if stated and stated[1] != task.paper["arxiv_id"]:
        yield problem("paper.arxiv_id", f"is {task.paper['arxiv_id']}, the address says {stated[1]}")
    for place, message in (*_paper_problems(task), *_orphan_problems(task)):
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
    if not least <= words <= most and "TODO" not in task.paper_text:
        yield "paper.md", f"{words} words; one to two pages have {least} to {most}"
    if re.search(r"^```(?:python|py)\b", task.paper_text, re.MULTILINE):
        yield "paper.md", "shows Python; say it in words and equations"
    for name in sorted({item.goal_file for item in task.implementations}):
        if re.search(rf"(?<![\w/]){re.escape(name)}\b", task.paper_text):
            yield "paper.md", f"names {name}: it says what the paper says and nothing about the repository"


def _orphan_problems(task: Task) -> Iterator[tuple[str, str]]:
    """What belongs to an instance that has another name now, or none."""
    known = {item.instance_id for item in task.siblings}
    for path in sorted((task.folder / "variants").glob("[!._]*")):
        if path.name not in known:
            yield f"variants/{path.name}", f"belongs to no instance; rename it to one of: {', '.join(sorted(known))}"
    for path in sorted((task.folder / RECORDED).glob("*")):
        if path.name.partition(".")[0] not in known:
            yield f"{RECORDED}/{path.name}", "belongs to no instance; delete it, and record again"


def _instance_problems(
    task: Task, item: Implementation, others: dict[str, Task], secrets: Secrets
) -> Iterator[tuple[str, str]]:
    for other in others.values():
        if other.name != task.name and item.instance_id in {one.instance_id for one in other.implementations}:
            yield "instance_id", f"{item.instance_id!r} is taken by {other.name}; choose another"
    if "TODO" not in item.instruction:
        for message in instruction_problems(item.instruction, item.goal_file, item.goal_function):
            yield "instruction", message
    words = len(item.contract.split())
    if words > MAX_CONTRACT:
        yield "contract", f"{words} words, at most {MAX_CONTRACT}: it states conventions and no steps"
    if "```" in item.contract:
        yield "contract", "shows code; state the convention in words"
    if item.goal_file in item.context_files:
        yield "context_files", f"names the goal file {item.goal_file}, which is shown anyway"
    repo = task.masked_repo(item)
    for reference in task.evidence(item):
        if reference in (item.goal_file, f"{item.goal_file}#{item.goal_function}"):
            yield "evidence", f"names {reference}, which is shown anyway"
        elif (length := len(read_passage(repo, reference))) > MAX_PASSAGE:
            yield (
                "evidence",
                f"{reference} has {length} characters, at most {MAX_PASSAGE}; name a part of it",
            )
    if len(item.tests.seeds) < 2:
        yield "tests.seeds", "needs two seeds or more: with one nobody can see which cases vary"
    yield from read_faults(task, item, secrets)
    yield from case_problems(task, item)
    yield from variant_problems(task, item)


def lines_of(problems: Sequence[Problem]) -> list[str]:
    """The problems as text, one a line."""
    return [": ".join(filter(None, (item.task or "the benchmark", item.place, item.message))) for item in problems]
