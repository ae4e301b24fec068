"""Lint tasks without running anything: find in a second what `dataset build` and `dataset check` would report later.

A clean task is well-formed; only `dataset check` proves that it is sound.
"""

import ast
import dataclasses
import functools
import re
import sys
from collections import Counter
from collections.abc import Collection, Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

from lmrbench_data.base.archive import matching
from lmrbench_data.base.errors import InputError
from lmrbench_data.base.git import ignored_files
from lmrbench_data.base.paths import benchmark_folder
from lmrbench_data.base.problems import Problem
from lmrbench_data.base.source import FunctionNode, find_function, parse
from lmrbench_data.base.text import join_names
from lmrbench_data.loader import File
from lmrbench_data.tasks.drafts import todo_marks
from lmrbench_data.tasks.environments import load_environments
from lmrbench_data.tasks.manifest import load_benchmark
from lmrbench_data.tasks.task import RECORDED, Implementation, Task
from lmrbench_data.tasks.task_folders import read_tasks, stated_ids, task_folders, unknown_names

from .static import ReferenceLines, static_problems

#: Maximum number of words of a contract; a longer one dictates the code.
MAX_CONTRACT = 400
#: Minimum and maximum number of words of paper.md: one to two pages.
PAPER_WORDS = (150, 1500)
#: Maximum size of a repository, so that the files a model needs fit into a prompt.
MAX_REPOSITORY_BYTES = 1_000_000
#: Calls that make a case return a verdict instead of outputs.
_VERDICTS = {"allclose", "isclose", "array_equal", "assert_close", "assert_allclose"}
#: A setting such as `n = 1`, which is not a formula.
_SETTING = re.compile(r"\b\w+ ?= ?\d[\d.]*")
_FORMULA = re.compile(r"\$|\\[a-zA-Z]+|[=≤≥∑∏∫√∈]")


def lint_tasks(
    names: Collection[str] = (), benchmark: Path | None = None
) -> tuple[int, list[Problem]]:
    """Return the number of tasks checked and their problems in the order of the folders.

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
    references = ReferenceLines.of(tasks.values())
    problems = list(_benchmark_problems(folder))
    for path in chosen:
        for file, number, text in todo_marks(path):  # of `tasks new`
            place = f"{file.relative_to(path)}:{number}"
            problems.append(Problem(path.name, place, f"TODO: {text}" if text else "TODO"))
        if path.name in broken:
            problem = _load_problem(path, str(broken[path.name]))
            problems.append(
                dataclasses.replace(
                    problem, message=f"{problem.message}; fix this to lint the rest"
                )
            )
        else:
            problems += _task_problems(tasks[path.name], tasks, references)
    return len(chosen), problems


def instruction_problems(text: str, goal_file: str, goal_function: str) -> Iterator[str]:
    """Yield the problems of an instruction's form; `static_problems` checks its number of words."""
    prose = re.sub(r"`[^`]*`", "x", text)
    if formula := _FORMULA.search(_SETTING.sub("x", prose)):
        yield f"contains a formula ({formula.group()}); name the paper's equation instead"
    quoted = " ".join(re.findall(r"`([^`]*)`", text))
    if goal_file not in quoted:
        yield f"does not name the goal file; add `{goal_file}`"
    if not any(part in quoted for part in goal_function.split(".")):
        yield f"does not name the goal function; add `{goal_function}`"


def _load_problem(folder: Path, error: str) -> Problem:
    """Turn an error that names file and place into a problem with a place inside the task's folder."""
    place, _, message = error.removeprefix(f"{folder}/").partition(": ")
    return Problem(folder.name, place, message)


def _benchmark_problems(folder: Path) -> Iterator[Problem]:
    """Yield the problems of the benchmark as a whole."""
    try:
        benchmark, installed = load_benchmark(folder), load_benchmark()
        load_environments(folder)
    except InputError as error:
        yield Problem("", "", str(error))
        return
    if not benchmark.is_lmr_bench and benchmark.canary == installed.canary:
        yield Problem("", "benchmark.yaml", "canary: is LMR-Bench's; write a GUID of your own")


def _task_problems(
    task: Task, others: dict[str, Task], references: ReferenceLines
) -> Iterator[Problem]:
    """Yield the problems of a readable task."""
    problem = functools.partial(Problem, task.name)
    if not re.fullmatch(r"\d\d+-[a-z0-9-]+", task.name):
        yield problem("", "the folder's name is not of the form NN-slug; rename it")
    try:
        _ = task.image_tag
    except InputError as error:
        yield _load_problem(task.folder, str(error))
    stated = re.search(r"arxiv\.org/(?:abs|pdf)/(\d{4}\.\d{4,5})", task.paper["url"])
    if stated and stated[1] != task.paper["arxiv_id"]:
        yield problem(
            "paper.arxiv_id",
            f"is {task.paper['arxiv_id']}, but paper.url names {stated[1]}; correct one",
        )
    yield from (*_paper_problems(task), *_orphan_problems(task), *_file_problems(task))
    yield from _repository_problems(task)
    for item in task.implementations:
        several = f"{item.instance_id}: " if len(task.implementations) > 1 else ""
        for found in _instance_problems(task, item, others, references):
            yield dataclasses.replace(found, subject=task.name, where=several + found.where)


def _paper_problems(task: Task) -> Iterator[Problem]:
    problem = functools.partial(Problem, task.name, "paper.md")
    words = len(task.paper_text.split())
    least, most = PAPER_WORDS
    if not least <= words <= most and "TODO" not in task.paper_text:
        yield problem(f"{words} words; write one to two pages ({least} to {most})")
    if re.search(r"^```(?:python|py)\b", task.paper_text, re.MULTILINE):
        yield problem("shows Python; use words and equations")
    for name in sorted({item.goal_file for item in task.implementations}):
        if re.search(rf"(?<![\w/]){re.escape(name)}\b", task.paper_text):
            yield problem(f"names {name}, a file of the repository; keep to what the paper says")


def _orphan_problems(task: Task) -> Iterator[Problem]:
    """Yield variants and recordings of instances that do not exist."""
    problem = functools.partial(Problem, task.name)
    known = {item.instance_id for item in task.every_instance}
    recorded = known | {item.instance_id for item in task.options}
    for path in matching(task.folder / "variants", "[!._]*"):
        if path.name not in known:
            names = ", ".join(sorted(known))
            yield problem(
                f"variants/{path.name}", f"belongs to no instance; rename it to one of: {names}"
            )
    for path in matching(task.folder / RECORDED, "*"):
        if path.name.partition(".")[0] not in recorded:
            yield problem(
                f"{RECORDED}/{path.name}", "belongs to no instance; delete it and record again"
            )


def _file_problems(task: Task) -> Iterator[Problem]:
    """Yield the files that git ignores, unless it ignores the whole task, and those that cases name and cannot read."""
    files = [path for path in matching(task.folder, "**/*") if path.is_file()]
    ignored = ignored_files(
        task.folder, [path.relative_to(task.folder).as_posix() for path in files]
    )
    if ignored and "task.yaml" not in ignored:
        fix = "keep such files with `git add --force`, or drop the rule (`git check-ignore -v` names it)"
        yield Problem(
            task.name, "", f"git ignores {join_names(ignored)}, which a clone will lack; {fix}"
        )
    cases = {task.folder / item.tests.file for item in task.every_instance}
    words = {
        word
        for path in cases
        for word in re.findall(r"\w+", path.read_text("utf-8", errors="replace"))
    }
    for folder in sorted({path.parent for path in cases} - {task.folder}):
        for path in sorted(set(matching(folder, "*")) - cases):
            if path.stem in words:
                place = path.relative_to(task.folder).as_posix()
                message = "is not there when the cases run, which are one file; move it into the cases, or into repo/"
                yield Problem(task.name, place, message)


def _instance_problems(
    task: Task, item: Implementation, others: dict[str, Task], references: ReferenceLines
) -> Iterator[Problem]:
    problem = functools.partial(Problem, item.instance_id)
    for other in others.values():
        if other.name != task.name and item.instance_id in {
            one.instance_id for one in other.implementations
        }:
            yield problem(
                "instance_id", f"{item.instance_id!r} is taken by {other.name}; choose another"
            )
    if "TODO" not in item.instruction:
        for message in instruction_problems(item.instruction, item.goal_file, item.goal_function):
            yield problem("instruction", message)
    words = len(item.contract.split())
    if words > MAX_CONTRACT:
        yield problem(
            "contract", f"{words} words, at most {MAX_CONTRACT}; state conventions, not steps"
        )
    if "```" in item.contract:
        yield problem("contract", "shows code; state the convention in words")
    if item.goal_file in item.context_files:
        yield problem(
            "context_files", f"names the goal file, which is shown anyway; remove {item.goal_file}"
        )
    if len(item.tests.seeds) < 2:
        yield problem("tests.seeds", "one seed cannot show which cases vary; use two or more")
    yield from static_problems(task, item, references)
    yield from _case_problems(task, item)


def _repository_problems(task: Task) -> Iterator[Problem]:
    """Yield the problems of `repo/` that `dataset check`, which runs its demo and its tests, would not find."""
    problem = functools.partial(Problem, task.name)
    readme = task.repo.get("README.md", File(b"")).data.decode("utf-8", "replace")
    if task.demo_command not in readme:
        yield problem(
            "repo/README.md", f"does not show the demo command; add `{task.demo_command}`"
        )
    size = sum(len(file.data) for file in task.repo.values())
    if size > MAX_REPOSITORY_BYTES:
        yield problem(
            "repo",
            f"{size / 1e6:.1f} MB, at most {MAX_REPOSITORY_BYTES / 1e6:.0f}; remove weights and data",
        )
    taken = _taken_modules(task.folder.parent, task.environment)
    for name in sorted({name.partition("/")[0] for name in task.repo if name.endswith(".py")}):
        if name.removesuffix(".py") in taken:
            yield problem(
                f"repo/{name}",
                "has the name of a module of Python, a library or the runner; rename it",
            )
    for name, file in task.repo.items():
        try:
            if name.endswith(".py"):
                parse(file.data.decode("utf-8", "replace"))
        except InputError as error:
            yield problem(f"repo/{name}", f"cannot be parsed: {error}")
    for item in task.implementations:
        node = find_function(
            task.repo[item.goal_file].data.decode("utf-8"), item.goal_function
        ).node
        if not ast.get_docstring(node):
            yield problem(
                f"repo/{item.goal_file}", f"{item.goal_function} has no docstring; add one"
            )


@functools.lru_cache(maxsize=16)  # the list of installed modules takes a while
def _taken_modules(benchmark: Path, environment: str) -> set[str]:
    """Return the modules of Python, of the environment's libraries and of the runner, which a repository must not hide.

    The modules of a library are those that are installed here; otherwise it has one of its own name.
    """
    stated = load_environments(benchmark).get(environment)
    libraries = set(map(_plain, stated.libraries())) if stated else set()
    installed = {
        name
        for name, owners in packages_distributions().items()
        if libraries & set(map(_plain, owners))
    }
    return {*sys.stdlib_module_names, *libraries, *installed, "cases", "lmrbench_cases"}


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "_", name).lower()


def _case_problems(task: Task, item: Implementation) -> Iterator[Problem]:
    """Yield the problems of an instance's cases."""
    place = item.tests.file
    problem = functools.partial(Problem, item.instance_id)
    try:
        tree = parse(task.cases(item).decode("utf-8"))
    except (InputError, UnicodeDecodeError) as error:
        yield problem(place, f"cannot be read: {error}")
        return
    functions = [
        node
        for node in tree.body
        if isinstance(node, FunctionNode) and node.name.startswith("case_")
    ]
    for name, count in Counter(node.name for node in functions).items():
        if count > 1:
            yield problem(
                place,
                f"{count} functions are called {name} and only the last one runs; rename the others",
            )
    core = [
        node
        for node in functions
        if any(ast.unparse(mark).rpartition(".")[2] == "core" for mark in node.decorator_list)
    ]
    if not core:
        yield problem(
            place,
            "no case is marked @core; mark the cases that follow from paper and repository alone",
        )
    elif len(core) == len(functions):
        yield problem(place, "every case is marked @core; add cases that test the contract")
    for call in (part for part in ast.walk(tree) if isinstance(part, ast.Call)):
        if (name := ast.unparse(call.func).rpartition(".")[2]) in _VERDICTS:
            yield problem(
                f"{place}:{call.lineno}",
                f"calls {name}; return the outputs, the evaluator compares them",
            )
