"""Lint tasks without running anything: find in a second what later commands would report.

A clean task is well-formed; only `dataset check` proves that it is sound.
"""

import ast
import functools
import re
import sys
from collections import Counter
from collections.abc import Collection, Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

from lmrbench_data.base.archive import matching
from lmrbench_data.base.configurations import KINDS
from lmrbench_data.base.errors import InputError
from lmrbench_data.base.git import ignored_files
from lmrbench_data.base.paths import benchmark_folder
from lmrbench_data.base.source import FunctionNode, find_function, parse
from lmrbench_data.base.text import join_names
from lmrbench_data.tasks.drafts import todo_marks
from lmrbench_data.tasks.environments import load_environments
from lmrbench_data.tasks.manifest import load_benchmark
from lmrbench_data.tasks.problems import Problem
from lmrbench_data.tasks.task import RECORDED, Implementation, Instance, Task
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

#: Places inside a task's folder with messages.
_Places = Iterator[tuple[str, str]]


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
    references = ReferenceLines.of(tasks.values())
    chosen = _chosen_folders(folder, set(names))
    problems = list(_benchmark_problems(folder))
    for path in chosen:
        problems += _todo_problems(path)
        if path.name in broken:
            problems.append(_loading_problem(path, broken[path.name]))
        else:
            problems += _task_problems(tasks[path.name], tasks, references)
    return len(chosen), problems


def _loading_problem(folder: Path, error: InputError) -> Problem:
    where, message = _place(folder, error)
    return Problem(folder.name, where, f"{message}; fix this to lint the rest")


def _chosen_folders(benchmark: Path, names: set[str]) -> list[Path]:
    """Return the task folders that these names select; all without names."""
    folders = task_folders(benchmark)
    if not names:
        return list(folders)
    called = {folder: {folder.name, *stated_ids(folder)} for folder in folders}
    unknown = names.difference(*called.values())
    if unknown:
        raise unknown_names(unknown, benchmark)
    return [folder for folder in folders if called[folder] & names]


def _todo_problems(folder: Path) -> Iterator[Problem]:
    """Yield the marks that `tasks new` left."""
    for file, number, text in todo_marks(folder):
        place = f"{file.relative_to(folder)}:{number}"
        yield Problem(folder.name, place, f"TODO: {text}" if text else "TODO")


def instruction_problems(text: str, goal_file: str, goal_function: str) -> Iterator[str]:
    """Yield the problems of an instruction's form; `static_problems` checks its length."""
    prose = _SETTING.sub("x", re.sub(r"`[^`]*`", "x", text))
    formula = _FORMULA.search(prose)
    if formula:
        yield f"contains a formula ({formula[0]}); name the paper's equation instead"
    quoted = " ".join(re.findall(r"`([^`]*)`", text))
    if goal_file not in quoted:
        yield f"does not name the goal file; add `{goal_file}`"
    if not any(part in quoted for part in goal_function.split(".")):
        yield f"does not name the goal function; add `{goal_function}`"


def _place(folder: Path, error: InputError) -> tuple[str, str]:
    """Split an error that names file and place into the place inside the folder and the message."""
    place, _, message = str(error).removeprefix(f"{folder}/").partition(": ")
    return place, message


def _benchmark_problems(folder: Path) -> Iterator[Problem]:
    """Yield the problems of the benchmark as a whole."""
    try:
        benchmark = load_benchmark(folder)
        load_environments(folder)
    except InputError as error:
        yield Problem("", "", str(error))
        return
    if not benchmark.is_lmr_bench and benchmark.canary == load_benchmark().canary:
        yield Problem("", "benchmark.yaml", "canary: is LMR-Bench's; write a GUID of your own")


def _task_problems(
    task: Task, others: dict[str, Task], references: ReferenceLines
) -> Iterator[Problem]:
    """Yield the problems of a readable task."""
    for problems in _OF_TASKS:
        for where, message in problems(task):
            yield Problem(task.name, where, message)
    for item in task.implementations:
        for where, message in _instance_problems(task, item, others, references):
            several = len(task.implementations) > 1
            place = f"{item.instance_id}: {where}" if several else where
            yield Problem(task.name, place, message)


def _name_problems(task: Task) -> _Places:
    if not re.fullmatch(r"\d\d+-[a-z0-9-]+", task.name):
        yield "", "the folder's name is not of the form NN-slug; rename it"


def _environment_problems(task: Task) -> _Places:
    try:
        _ = task.image_tag
    except InputError as error:
        yield _place(task.folder, error)


def _arxiv_problems(task: Task) -> _Places:
    arxiv_id = task.paper["arxiv_id"]
    stated = re.search(r"arxiv\.org/(?:abs|pdf)/(\d{4}\.\d{4,5})", task.paper["url"])
    if stated and stated[1] != arxiv_id:
        yield "paper.arxiv_id", f"is {arxiv_id}, but paper.url names {stated[1]}; correct one"


def _paper_problems(task: Task) -> _Places:
    text = task.paper_text
    words = len(text.split())
    least, most = PAPER_WORDS
    if not least <= words <= most and "TODO" not in text:
        yield "paper.md", f"{words} words; write one to two pages ({least} to {most})"
    if re.search(r"^```(?:python|py)\b", text, re.MULTILINE):
        yield "paper.md", "shows Python; use words and equations"
    for name in sorted({item.goal_file for item in task.implementations}):
        if re.search(rf"(?<![\w/]){re.escape(name)}\b", text):
            fix = "keep to what the paper says"
            yield "paper.md", f"names {name}, a file of the repository; {fix}"


def _orphan_problems(task: Task) -> _Places:
    """Yield variants and recordings of instances that do not exist."""
    instances = {item.instance_id for item in task.every_instance}
    recorded = instances.union(item.instance_id for item in task.options)
    for path in matching(task.folder / "variants", "[!._]*"):
        if path.name not in instances:
            fix = f"rename it to one of: {', '.join(sorted(instances))}"
            yield f"variants/{path.name}", f"belongs to no instance; {fix}"
    for path in matching(task.folder / RECORDED, "*"):
        if path.name.partition(".")[0] not in recorded:
            yield f"{RECORDED}/{path.name}", "belongs to no instance; delete it and record again"


def _variant_problems(task: Task) -> _Places:
    """Yield what lies among the variants and is not read as one."""
    for item in task.every_instance:
        for path in matching(task.folder / "variants" / item.instance_id, "[!._]*"):
            place = path.relative_to(task.folder).as_posix()
            if path.name in KINDS and path.is_dir():
                yield from _unread_variants(task, item, path)
            else:
                yield place, f"is no kind of variant; move it to one of: {', '.join(KINDS)}"


def _unread_variants(task: Task, item: Instance, folder: Path) -> _Places:
    """Yield what a folder of one kind of variants holds besides them."""
    variants = task.variants(item, folder.name)
    form = "a folder" if item.configuration.is_method else "NAME.py"
    for path in matching(folder, "[!._]*"):
        if path not in variants:
            place = path.relative_to(task.folder).as_posix()
            yield place, f"is not read as a variant; name it {form}"


def _nested_repository_problems(task: Task) -> _Places:
    """Yield the git repositories below a task."""
    problem = "makes its folder another repository, whose files a clone will lack; remove it"
    for path in sorted(task.folder.rglob(".git")):
        yield path.relative_to(task.folder).as_posix(), problem


def _ignored_problems(task: Task) -> _Places:
    """Yield the files that git ignores, unless it ignores the whole task."""
    files = [path for path in matching(task.folder, "**/*") if path.is_file()]
    names = [path.relative_to(task.folder).as_posix() for path in files]
    ignored = ignored_files(task.folder, names)
    if ignored and "task.yaml" not in ignored:
        fix = "keep such files with `git add --force`, or drop the rule (see `git check-ignore -v`)"
        yield "", f"git ignores {join_names(ignored)}, which a clone will lack; {fix}"


def _helper_problems(task: Task) -> _Places:
    """Yield the files beside the cases that they name and cannot read."""
    cases = {task.folder / item.tests.file for item in task.every_instance}
    source = " ".join(path.read_text("utf-8", errors="replace") for path in cases)
    words = set(re.findall(r"\w+", source))
    for folder in sorted({path.parent for path in cases} - {task.folder}):
        for path in matching(folder, "*"):
            if path.stem in words and path not in cases:
                place = path.relative_to(task.folder).as_posix()
                fix = "move it into the cases, or into repo/"
                yield place, f"is not there when the cases run, which are one file; {fix}"


def _readme_problems(task: Task) -> _Places:
    readme = task.repo.get("README.md")
    if readme is None or task.demo_command.encode() not in readme.data:
        yield "repo/README.md", f"does not show the demo command; add `{task.demo_command}`"


def _size_problems(task: Task) -> _Places:
    size = sum(len(file.data) for file in task.repo.values())
    if size > MAX_REPOSITORY_BYTES:
        most = f"at most {MAX_REPOSITORY_BYTES / 1e6:.0f}"
        yield "repo", f"{size / 1e6:.1f} MB, {most}; remove weights and data"


def _module_problems(task: Task) -> _Places:
    """Yield files and folders that hide other modules."""
    taken = _taken_modules(task.folder.parent, task.environment)
    modules = {name.partition("/")[0] for name in task.repo if name.endswith(".py")}
    for module in sorted(modules):
        if module.removesuffix(".py") in taken:
            owner = "a module of Python, a library or the runner"
            yield f"repo/{module}", f"has the name of {owner}; rename it"


def _source_problems(task: Task) -> _Places:
    """Yield files of the repository that are not Python, whatever their names say."""
    for name, file in task.repo.items():
        if name.endswith(".py"):
            try:
                parse(file.data.decode("utf-8", "replace"))
            except InputError as error:
                yield f"repo/{name}", f"cannot be parsed: {error}"


def _docstring_problems(task: Task) -> _Places:
    for item in task.implementations:
        source = task.repo[item.goal_file].data.decode("utf-8")
        if not ast.get_docstring(find_function(source, item.goal_function).node):
            yield f"repo/{item.goal_file}", f"{item.goal_function} has no docstring; add one"


_OF_TASKS = (
    _name_problems,
    _environment_problems,
    _arxiv_problems,
    _paper_problems,
    _orphan_problems,
    _variant_problems,
    _nested_repository_problems,
    _ignored_problems,
    _helper_problems,
    _readme_problems,
    _size_problems,
    _module_problems,
    _source_problems,
    _docstring_problems,
)


def _instance_problems(
    task: Task, item: Implementation, others: dict[str, Task], references: ReferenceLines
) -> _Places:
    yield from _id_problems(task, item, others)
    if item.goal_file in item.context_files:
        yield (
            "context_files",
            f"names the goal file, which is shown anyway; remove {item.goal_file}",
        )
    if len(item.tests.seeds) < 2:
        yield "tests.seeds", "one seed cannot show which cases vary; use two or more"
    yield from _text_problems(item)
    for problem in static_problems(task, item, references):
        yield problem.where, problem.message
    yield from _case_problems(task, item)


def _id_problems(task: Task, item: Implementation, others: dict[str, Task]) -> _Places:
    for other in others.values():
        ids = [implementation.instance_id for implementation in other.implementations]
        if other.name != task.name and item.instance_id in ids:
            yield "instance_id", f"{item.instance_id!r} is taken by {other.name}; choose another"


def _text_problems(item: Implementation) -> _Places:
    """Yield the problems of instruction and contract."""
    if "TODO" not in item.instruction:
        for message in instruction_problems(item.instruction, item.goal_file, item.goal_function):
            yield "instruction", message
    words = len(item.contract.split())
    if words > MAX_CONTRACT:
        yield "contract", f"{words} words, at most {MAX_CONTRACT}; state conventions, not steps"
    if "```" in item.contract:
        yield "contract", "shows code; state the convention in words"


@functools.lru_cache(maxsize=16)  # the list of installed modules takes a while
def _taken_modules(benchmark: Path, environment: str) -> set[str]:
    """Return the modules of Python, the libraries and the runner, which no repository may hide.

    The modules of a library are those that are installed here; otherwise the one of its name.
    """
    stated = load_environments(benchmark).get(environment)
    libraries = set(map(_plain, stated.libraries())) if stated else set()
    taken = {*sys.stdlib_module_names, *libraries, "cases", "lmrbench_cases"}
    for module, owners in packages_distributions().items():
        if libraries.intersection(map(_plain, owners)):
            taken.add(module)
    return taken


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "_", name).lower()


def _case_problems(task: Task, item: Implementation) -> _Places:
    """Yield the problems of an instance's cases."""
    file = item.tests.file
    try:
        tree = parse(task.cases(item).decode("utf-8"))
    except (InputError, UnicodeDecodeError) as error:
        yield file, f"cannot be read: {error}"
        return
    for message in _declaration_problems(tree):
        yield file, message
    fix = "return the outputs, the evaluator compares them"
    for line, message in _missing_outputs(tree):
        yield f"{file}:{line}", f"{message}; {fix}"


def _missing_outputs(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the lines of cases that return no outputs, and of verdicts in their place."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _name(node.func) in _VERDICTS:
            yield node.lineno, f"calls {_name(node.func)}"
    for case in _cases(tree):
        if not any(isinstance(node, ast.Return) and node.value for node in ast.walk(case)):
            yield case.lineno, f"{case.name} returns nothing"


def _cases(tree: ast.Module) -> list[FunctionNode]:
    functions = [node for node in tree.body if isinstance(node, FunctionNode)]
    return [node for node in functions if node.name.startswith("case_")]


def _declaration_problems(tree: ast.Module) -> Iterator[str]:
    """Yield cases of one name, and levels without cases."""
    cases = _cases(tree)
    for name, count in Counter(node.name for node in cases).items():
        if count > 1:
            fix = "rename the others"
            yield f"{count} functions are called {name} and only the last one runs; {fix}"
    core = sum(map(_is_core, cases))
    if core == 0:
        fix = "mark the cases that follow from paper and repository alone"
        yield f"no case is marked @core; {fix}"
    elif core == len(cases):
        yield "every case is marked @core; add cases that test the contract"


def _is_core(case: FunctionNode) -> bool:
    return any(_name(mark) == "core" for mark in case.decorator_list)


def _name(node: ast.expr) -> str:
    """Return the last part of a dotted name."""
    return ast.unparse(node).rpartition(".")[2]
