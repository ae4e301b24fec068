"""Follow names through a repository: what a function uses, which functions call it, which files can run with it.

Names alone decide, in favour of finding too much: a judge cannot follow a call that it cannot see.
"""

import ast
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from ..loader import File
from .definitions import CodeIndex, Module, imported, parts_of
from .source import SourceError, find_function, parse

#: Longer text cannot be the name of a module.
_MAX_NAME = 200


class Definition(NamedTuple):
    """A function, class or constant of the repository."""

    path: str
    name: str
    source: str


def used_definitions(
    others: CodeIndex, goal_file: str, goal_function: str, sources: Sequence[str], budget: int
) -> list[Definition]:
    """The definitions in other files that a function uses, nearest first, then those that these use.

    They are found by imported names, and by methods that only one class of the other files has.

    Args:
        others: the repository without the goal file.
        sources: versions of the goal file; one that cannot be parsed uses nothing.
        budget: characters of all definitions together; a definition that exceeds it is left out.
    """
    waiting: list[tuple[Module, ast.AST]] = []
    for source in sources:
        try:
            waiting.append((Module(goal_file, source), find_function(source, goal_function).node))
        except SourceError:
            continue
    found: dict[tuple[str, str], Definition] = {}
    while waiting:
        for module, name, node in _used(others, *waiting.pop(0)):
            text = module.text(node)
            if (module.path, text) not in found and len(text) <= budget:
                budget -= len(text)
                found[module.path, text] = Definition(module.path, name, text)
                waiting.append((module, node))
    return list(found.values())


def _used(others: CodeIndex, module: Module, tree: ast.AST) -> Iterator[tuple[Module, str, ast.stmt]]:
    """(file, name, statement) of each definition in other files that a part of `module` names."""
    nodes = list(ast.walk(tree))
    local: dict[str, tuple[str, ...]] = {}
    for node in nodes:
        local |= imported(node, module.path)
    inner = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
    whole = (node for node in nodes if isinstance(node, ast.Name | ast.Attribute) and id(node) not in inner)
    for chain in sorted({parts_of(node) for node in whole} - {()}):
        absolute = (*local[chain[0]], *chain[1:]) if chain[0] in local else ()
        origin = others.resolve_absolute(absolute) if absolute else others.resolve(module, chain)
        if origin.name and origin.module and origin.module.path in others.modules:
            yield origin.module, origin.name, origin.module.defined[origin.name]
    for name in sorted({node.attr for node in nodes if isinstance(node, ast.Attribute)}):
        if not name.startswith("__") and (found := others.only_method(name)):
            method = found[0].definition(f"{found[1]}.{name}")
            assert method is not None
            yield found[0], f"{found[1]}.{name}", method


def callers(others: CodeIndex, goal_function: str, budget: int) -> list[Definition]:
    """The functions of other files that name the goal function, each with the docstrings around it, tests last.

    A method that Python calls by itself (`forward` of a module, `__call__`) is called where its class is named.

    Args:
        others: the repository without the goal file.
        budget: characters of all callers together; a caller that exceeds it is left out.
    """
    owner, _, name = goal_function.rpartition(".")
    wanted = owner if name in ("forward", "__call__") else name
    found = []
    paths = others.modules
    for path in sorted(paths, key=lambda path: ("test" in path.rpartition("/")[0] or "/test" in f"/{path}", path)):
        module = others.modules[path]
        for full, node in module.functions():
            names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
            names |= {part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute)}
            of_class = full.rpartition(".")[0]
            head = [module.head(module.classes[of_class].node)] if of_class else []
            text = "\n\n".join(filter(None, [*head, module.text(node)]))
            if wanted in names and len(text) <= budget:
                budget -= len(text)
                found.append(Definition(path, full, text))
    return found


def reachable_files(files: Mapping[str, File], goal: str, cases: Collection[bytes]) -> frozenset[str]:
    """The paths of Python files that may run when the cases do: those that are imported, directly or not.

    `import more` reaches every `more.py`, in any folder, and so does the text `"more"`, by which code could import.

    Args:
        files: the repository, including files that an answer removes.
        goal: the path of the goal file.
        cases: sources of the code that calls it.
    """
    by_stem: dict[str, list[str]] = {}
    for path in files:
        parts = path.removesuffix(".py").removesuffix("/__init__").split("/")
        if path.endswith(".py") and all(part.isidentifier() for part in parts):
            by_stem.setdefault(parts[-1], []).append(path)
    reached = {goal}
    waiting = [files[goal].data, *cases]
    while waiting:
        for name in _module_names(waiting.pop()):
            new = [path for path in by_stem.get(name, ()) if path not in reached]
            reached.update(new)
            waiting += [files[path].data for path in new]
    return frozenset(reached)


def _module_names(source: bytes) -> Iterator[str]:
    """The parts of all names in source that could be modules'."""
    try:
        tree = parse(source.decode("utf-8"))
    except (SourceError, UnicodeError):
        return
    for node in ast.walk(tree):
        match node:
            case ast.Import():
                names = [alias.name for alias in node.names]
            case ast.ImportFrom():
                names = [node.module or "", *(alias.name for alias in node.names)]
            case ast.Constant(value=str(text)) if len(text) <= _MAX_NAME:
                names = [text.removesuffix(".py").replace("/", ".")]
            case _:
                continue
        for name in names:
            yield from filter(None, name.split("."))


def names_in(source: bytes) -> frozenset[str]:
    """Every word of a text that could be a Python name."""
    return frozenset(re.findall(r"[^\W\d]\w*", source.decode("utf-8", "replace")))
