"""Lint a task's code: its repository, its cases and its variants."""

import ast
import functools
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
from lmrbench_data.base.problems import Problem
from lmrbench_data.base.source import FunctionNode, find_function, parse, split_lines
from lmrbench_data.loader import File
from lmrbench_data.tasks.environments import Environment
from lmrbench_data.tasks.task import Implementation, Task

from .static import read_variant

#: Maximum size of a repository, so that the files a model needs fit into a prompt.
MAX_REPOSITORY_BYTES = 1_000_000
#: Package → module, where the names differ.
_MODULES = {"scikit-learn": "sklearn", "pyyaml": "yaml", "pillow": "PIL"}
#: Calls that make a case return a verdict instead of outputs.
_VERDICTS = {"allclose", "isclose", "array_equal", "assert_close", "assert_allclose"}
#: Minimum length of two consecutive lines whose reappearance is not a coincidence.
_DISTINCTIVE = 25


def repository_problems(task: Task, environment: Environment | None) -> Iterator[Problem]:
    """Yield the problems of `repo/`.

    Args:
        environment: the environment that runs the task's code; None if it is unknown.
    """
    problem = functools.partial(Problem, task.name)
    readme = task.repo.get("README.md", File(b"")).data.decode("utf-8", "replace")
    if not readme:
        yield problem("repo/README.md", "missing; write how to run the demo")
    elif task.demo_command not in readme:
        yield problem("repo/README.md", f"does not show the demo command; add `{task.demo_command}`")
    if missing := _missing_script(task.demo_command, task.repo):
        yield problem("demo_command", f"no file {missing!r} in repo/; name a script that is there")
    size = sum(len(file.data) for file in task.repo.values())
    if size > MAX_REPOSITORY_BYTES:
        yield problem("repo", f"{size / 1e6:.1f} MB, at most {MAX_REPOSITORY_BYTES / 1e6:.0f}; remove weights and data")
    tests = {name: text for name, text in _python(task.repo) if re.fullmatch(r"tests/(?:\w+/)*test\w*\.py", name)}
    if not any("TestCase" in text and "def test" in text for text in tests.values()):
        yield problem("repo/tests", "no smoke tests; add unittest.TestCase classes in tests/test_*.py")
    yield from itertools.starmap(problem, _import_problems(task.repo, environment))
    for item in task.implementations:
        node = find_function(task.repo[item.goal_file].data.decode("utf-8"), item.goal_function).node
        if not ast.get_docstring(node):
            yield problem(
                f"repo/{item.goal_file}",
                f"{item.goal_function} has no docstring; add one",
            )
        yield from itertools.starmap(problem, _copies(task, item, node))


def case_problems(task: Task, item: Implementation) -> Iterator[Problem]:
    """Yield the problems of an instance's cases."""
    place = item.tests.file
    problem = functools.partial(Problem, item.instance_id)
    try:
        source = task.cases(item).decode("utf-8")
        tree = parse(source)
    except (InputError, UnicodeDecodeError) as error:
        yield problem(place, f"cannot be read: {error}")
        return
    functions = [node for node in tree.body if isinstance(node, FunctionNode) and node.name.startswith("case_")]
    if not functions:
        yield problem(place, "no case_<name>(seed) function; write one for each behaviour")
        return
    for name, count in Counter(node.name for node in functions).items():
        if count > 1:
            yield problem(place, f"{count} functions are called {name} and only the last one runs; rename the others")
    core = [node for node in functions if any(last_name(mark) == "core" for mark in node.decorator_list)]
    if not core:
        yield problem(place, "no case is marked @core; mark the cases that follow from paper and repository alone")
    elif len(core) == len(functions):
        yield problem(place, "every case is marked @core; add cases that test the contract")
    for node in functions:
        arguments = node.args
        if len([*arguments.posonlyargs, *arguments.args]) != 1 or not arguments.args:
            yield problem(f"{place}:{node.lineno}", f"{node.name} must take one argument; write {node.name}(seed)")
    for call in (part for part in ast.walk(tree) if isinstance(part, ast.Call)):
        if (name := last_name(call.func)) in _VERDICTS:
            yield problem(f"{place}:{call.lineno}", f"calls {name}; return the outputs, the evaluator compares them")
    if item.goal_function.partition(".")[0] not in source:
        yield problem(place, f"does not call the goal function; import {item.goal_function.partition('.')[0]}")


def variant_problems(task: Task, item: Implementation) -> Iterator[Problem]:
    """Yield the variants that cannot be applied and those that repeat another one."""
    problem = functools.partial(Problem, item.instance_id)
    golden = find_function(task.repo[item.goal_file].data.decode("utf-8"), item.goal_function).node
    seen = {_normalised(golden): "the reference"}
    for kind in ("valid", "plain", "careless", "wrong"):
        for path in task.variants(item, kind):
            text = read_variant(path)
            if text is None:
                continue  # `static_problems` reports it
            place = f"variants/{item.instance_id}/{kind}/{path.name}"
            try:
                tree = parse(textwrap.dedent(text))
            except InputError as error:
                yield problem(place, f"cannot be applied: {error}")
                continue
            functions = [part for part in ast.walk(tree) if isinstance(part, FunctionNode)]
            found = [part for part in functions if part.name == golden.name]
            if not found:
                yield problem(place, f"does not define {golden.name}; rename its function")
            elif len(functions) == 1:  # others may differ in the helpers that they call
                code = _normalised(found[0])
                if code in seen:
                    yield problem(place, f"has the same code as {seen[code]}; delete one of them")
                seen.setdefault(code, f"{kind}/{path.name}")


def _python(repo: Mapping[str, File]) -> Iterator[tuple[str, str]]:
    for name, file in repo.items():
        if name.endswith(".py"):
            yield name, file.data.decode("utf-8", "replace")


def _missing_script(command: str, repo: Mapping[str, File]) -> str:
    """Return the script of a demo command if the repository lacks it, else an empty string."""
    words = shlex.split(command)[1:]
    if words[:1] == ["-m"] and len(words) > 1:
        module = words[1].replace(".", "/")
        return "" if {f"{module}.py", f"{module}/__main__.py"} & repo.keys() else f"{module}.py"
    script = next((word for word in words if word.endswith(".py")), "")
    return "" if not script or str(PurePosixPath(script)) in repo else script


def _import_problems(repo: Mapping[str, File], environment: Environment | None) -> Iterator[tuple[str, str]]:
    """Yield (place, message) of files that cannot be parsed and of imports that the environment lacks."""
    for name, text in _python(repo):
        try:
            parse(text)
        except InputError as error:
            yield f"repo/{name}", f"cannot be parsed: {error}"
    if environment:
        for name, line, module in _missing_imports(repo, environment):
            yield f"repo/{name}:{line}", f"imports {module}, but {_contents(environment)}; replace it"


def _contents(environment: Environment) -> str:
    """Return a clause that lists the packages of an environment."""
    return f"the environment {environment.name} has {', '.join(_packages(environment))}"


def _missing_imports(repo: Mapping[str, File], environment: Environment) -> Iterator[tuple[str, int, str]]:
    """Yield (file, line, module) of each import that the environment lacks.

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


def _copies(task: Task, item: Implementation, node: FunctionNode) -> Iterator[tuple[str, str]]:
    """Yield files that repeat two consecutive lines of the reference; `static_problems` reports single long lines."""
    golden = split_lines(task.repo[item.goal_file].data.decode("utf-8"))
    first = node.body[1] if len(node.body) > 1 and ast.get_docstring(node) is not None else node.body[0]
    body = _plain(golden[first.lineno - 1 : node.end_lineno])
    pairs = {pair for pair in itertools.pairwise(body) if min(map(len, pair)) >= _DISTINCTIVE}
    masked = task.masked_repo(item)
    for name, file in masked.items():
        lines = _plain(split_lines(file.data.decode("utf-8", "replace")))
        if both := next((pair for pair in itertools.pairwise(lines) if pair in pairs), None):
            yield f"repo/{name}", f"repeats lines of {item.goal_function}; rewrite them: {' / '.join(both)}"


def _plain(lines: list[str]) -> list[str]:
    """Return lines of code without whitespace, comments and empty lines."""
    bare = (re.sub(r"\s+", "", line) for line in lines)
    return [line for line in bare if line and not line.startswith("#")]


def _normalised(node: FunctionNode) -> str:
    """Return a form of a function's code that ignores docstring, comments and layout."""
    body = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
    return " ".join(ast.dump(part) for part in body)
