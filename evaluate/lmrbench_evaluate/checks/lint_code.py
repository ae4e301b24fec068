"""Checks of a task's code that run nothing: its repository, its cases and its variants."""

import ast
import itertools
import re
import shlex
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from lmrbench_data.base.definitions import last_name
from lmrbench_data.base.errors import InputError
from lmrbench_data.base.source import FunctionNode, find_function, parse, split_lines
from lmrbench_data.loader import File
from lmrbench_data.tasks.environments import Environment
from lmrbench_data.tasks.task import Implementation, Task

from .faults import read_variant

#: Limit on a repository, so that the files a model needs fit into a prompt.
MAX_REPOSITORY_BYTES = 1_000_000
#: Package → module, where the names differ.
_MODULES = {"scikit-learn": "sklearn", "pyyaml": "yaml", "pillow": "PIL"}
#: Calls with which a case would return a verdict instead of outputs.
_VERDICTS = {"allclose", "isclose", "array_equal", "assert_close", "assert_allclose"}
#: Characters from which two equal consecutive lines cannot be a coincidence.
_TELLING = 25

Found = Iterator[tuple[str, str]]


def repository_problems(task: Task, environment: Environment | None) -> Found:
    """(place, message) of each problem in `repo/`.

    Args:
        environment: the environment that the task's code runs in; None if it is unknown.
    """
    readme = task.repo.get("README.md", File(b"")).data.decode("utf-8", "replace")
    if not readme:
        yield "repo/README.md", "missing; it tells a reader what to run"
    elif task.demo_command not in readme:
        yield "repo/README.md", f"does not have the demo command `{task.demo_command}`"
    if missing := _script_of(task.demo_command, task.repo):
        yield "demo_command", f"no file {missing!r} in repo/"
    size = sum(len(file.data) for file in task.repo.values())
    if size > MAX_REPOSITORY_BYTES:
        yield "repo", f"{size / 1e6:.1f} MB, at most {MAX_REPOSITORY_BYTES / 1e6:.0f}: no weights, no downloads"
    tests = {name: text for name, text in _python(task.repo) if re.fullmatch(r"tests/(?:\w+/)*test\w*\.py", name)}
    if not any("TestCase" in text and "def test" in text for text in tests.values()):
        yield "repo/tests", "no smoke tests: unittest.TestCase classes in tests/test_*.py"
    yield from _import_problems(task.repo, environment)
    for item in task.implementations:
        node = find_function(task.repo[item.goal_file].data.decode("utf-8"), item.goal_function).node
        if not ast.get_docstring(node):
            yield f"repo/{item.goal_file}", f"{item.goal_function} has no docstring; masking leaves nothing else"
        yield from _copies(task, item, node)


def case_problems(task: Task, item: Implementation) -> Found:
    """(place, message) of each problem in the cases of an instance."""
    place = item.tests.file
    try:
        source = task.cases(item).decode("utf-8")
        tree = parse(source)
    except (InputError, UnicodeDecodeError) as error:
        yield place, f"cannot be read: {error}"
        return
    functions = [node for node in tree.body if isinstance(node, FunctionNode) and node.name.startswith("case_")]
    if not functions:
        yield place, "no case_<name>(seed) function"
        return
    for name, count in Counter(node.name for node in functions).items():
        if count > 1:
            yield place, f"{count} functions are called {name}: only the last one runs"
    core = [node for node in functions if any(last_name(mark) == "core" for mark in node.decorator_list)]
    if not core:
        yield place, "no case is marked @core: mark those that follow from paper and repository alone"
    elif len(core) == len(functions):
        yield place, "every case is a core case: none tests the contract"
    for node in functions:
        arguments = node.args
        if len([*arguments.posonlyargs, *arguments.args]) != 1 or not arguments.args:
            yield f"{place}:{node.lineno}", f"{node.name} has to take one argument, the seed"
    for call in (part for part in ast.walk(tree) if isinstance(part, ast.Call)):
        if (name := last_name(call.func)) in _VERDICTS:
            yield f"{place}:{call.lineno}", f"{name}: a case returns outputs and no verdict"
    if item.goal_function.partition(".")[0] not in source:
        yield place, f"does not name {item.goal_function.partition('.')[0]}"


def variant_problems(task: Task, item: Implementation) -> Found:
    """(place, message) of each variant that cannot be applied, or that repeats another one."""
    golden = find_function(task.repo[item.goal_file].data.decode("utf-8"), item.goal_function).node
    seen = {_meaning(golden): "the reference"}
    for kind in ("valid", "plain", "careless", "wrong"):
        for path in task.variants(item, kind):
            text = read_variant(path)
            if text is None:
                continue  # `faults.py` reports it
            place = f"variants/{item.instance_id}/{kind}/{path.name}"
            try:
                tree = parse(textwrap.dedent(text))
            except InputError as error:
                yield place, f"cannot be applied: {error}"
                continue
            functions = [part for part in ast.walk(tree) if isinstance(part, FunctionNode)]
            found = [part for part in functions if part.name == golden.name]
            if not found:
                yield place, f"does not define {golden.name}"
            elif len(functions) == 1:  # others may differ in the helpers that they call
                meaning = _meaning(found[0])
                if meaning in seen:
                    yield place, f"is the same code as {seen[meaning]}"
                seen.setdefault(meaning, f"{kind}/{path.name}")


def _python(repo: Mapping[str, File]) -> Iterator[tuple[str, str]]:
    for name, file in repo.items():
        if name.endswith(".py"):
            yield name, file.data.decode("utf-8", "replace")


def _script_of(command: str, repo: Mapping[str, File]) -> str:
    """The file that a demo command starts and the repository lacks; empty if it lacks none."""
    words = shlex.split(command)[1:]
    if words[:1] == ["-m"] and len(words) > 1:
        module = words[1].replace(".", "/")
        return "" if {f"{module}.py", f"{module}/__main__.py"} & repo.keys() else f"{module}.py"
    script = next((word for word in words if word.endswith(".py")), "")
    return "" if not script or str(PurePosixPath(script)) in repo else script


def _import_problems(repo: Mapping[str, File], environment: Environment | None) -> Found:
    """Files that cannot be parsed, and imports that the environment does not have."""
    for name, text in _python(repo):
        try:
            parse(text)
        except InputError as error:
            yield f"repo/{name}", str(error)
    if environment:
        for name, line, module in missing_imports(repo, environment):
            yield f"repo/{name}:{line}", f"imports {module}; {contents(environment)}"


def contents(environment: Environment) -> str:
    """A clause that lists the packages of an environment."""
    return f"the environment {environment.name} has {', '.join(_packages(environment))}"


def missing_imports(repo: Mapping[str, File], environment: Environment) -> Iterator[tuple[str, int, str]]:
    """(file, line, module) of each import that the environment does not have.

    Imports inside `try` and files that cannot be parsed are skipped.
    """
    own = {part.removesuffix(".py") for name in repo for part in PurePosixPath(name).parts}
    packages = (_MODULES.get(name, name.replace("-", "_")) for name in _packages(environment))
    known = {*sys.stdlib_module_names, *own, *packages}
    for name, text in _python(repo):
        try:
            tree = parse(text)
        except InputError:
            continue
        nodes = list(ast.walk(tree))
        for node in nodes:
            if not isinstance(node, ast.Import | ast.ImportFrom):
                continue
            modules = [alias.name for alias in node.names]
            if isinstance(node, ast.ImportFrom):
                modules = [] if node.level else [node.module or ""]
            for module in sorted({module.partition(".")[0] for module in modules} - known):
                tried = (inner for part in nodes if isinstance(part, ast.Try) for inner in ast.walk(part))
                if node not in tried:
                    yield name, node.lineno, module


def _packages(environment: Environment) -> list[str]:
    return [line.partition("==")[0].lower() for line in environment.packages()]


def _copies(task: Task, item: Implementation, node: FunctionNode) -> Found:
    """Files in which two lines of the reference follow each other; `faults.py` reports single long lines."""
    golden = split_lines(task.repo[item.goal_file].data.decode("utf-8"))
    first = node.body[1] if len(node.body) > 1 and ast.get_docstring(node) is not None else node.body[0]
    body = _plain(golden[first.lineno - 1 : node.end_lineno])
    pairs = {pair for pair in itertools.pairwise(body) if min(map(len, pair)) >= _TELLING}
    masked = task.masked_repo(item)
    for name, file in masked.items():
        lines = _plain(split_lines(file.data.decode("utf-8", "replace")))
        if both := next((pair for pair in itertools.pairwise(lines) if pair in pairs), None):
            yield f"repo/{name}", f"repeats lines of {item.goal_function}: {' / '.join(both)}"


def _plain(lines: list[str]) -> list[str]:
    """Lines of code without blanks, comments and empty ones."""
    bare = (re.sub(r"\s+", "", line) for line in lines)
    return [line for line in bare if line and not line.startswith("#")]


def _meaning(node: FunctionNode) -> str:
    """A function's code without its docstring, hints and layout."""
    body = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
    return " ".join(ast.dump(part) for part in body)
