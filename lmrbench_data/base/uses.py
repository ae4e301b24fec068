"""Follow names through a repository: definitions that a function uses, its callers, files that can run with it.

Matching is by name and prefers too many results: a judge cannot follow a call that it cannot see.
"""

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from ..loader import File
from .definitions import CodeIndex, Module, imported, parts_of
from .source import SourceError, find_function, parse

#: Maximum length of a module name.
_MAX_NAME = 200


class Definition(NamedTuple):
    """A function, class or constant of the repository."""

    path: str
    name: str
    source: str


def used_definitions(others: CodeIndex, functions: Iterable[tuple[str, str, str]], budget: int) -> list[Definition]:
    """Find the definitions in other files that functions use, directly or indirectly, nearest first.

    They match imported names, and method names that are unique among the classes of the other files.

    Args:
        others: the repository without the goal files.
        functions: path, name and text of the file of each; one whose file cannot be parsed is skipped.
        budget: maximum total length; a definition that exceeds it is left out.
    """
    waiting: list[tuple[Module, ast.AST]] = []
    for path, name, source in functions:
        try:
            waiting.append((Module(path, source), find_function(source, name).node))
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
    """Yield (file, name, statement) of each definition in other files that a subtree of `module` names."""
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


def callers(others: CodeIndex, goal_functions: Iterable[str], budget: int) -> list[Definition]:
    """Find the functions of other files that name a goal function, with the heads of their classes, tests last.

    Code that names a class counts as a caller of its `forward` and `__call__`, which Python and PyTorch call.

    Args:
        others: the repository without the goal files.
        budget: maximum total length; a caller that exceeds it is left out.
    """
    split = (name.rpartition(".") for name in goal_functions)
    wanted = {owner if name in ("forward", "__call__") else name for owner, _, name in split}
    found = []
    paths = others.modules
    for path in sorted(paths, key=lambda path: ("test" in path.rpartition("/")[0] or "/test" in f"/{path}", path)):
        module = others.modules[path]
        for full, node in module.functions():
            names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
            names |= {part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute)}
            of_class = full.rpartition(".")[0]
            head = [module.head(module.defined[of_class])] if of_class else []
            text = "\n\n".join(filter(None, [*head, module.text(node)]))
            if wanted & names and len(text) <= budget:
                budget -= len(text)
                found.append(Definition(path, full, text))
    return found


def reachable_files(files: Mapping[str, File], goals: Collection[str], cases: Collection[bytes]) -> frozenset[str]:
    """Find the Python files that may run with the cases, because they are imported directly or indirectly.

    `import more` reaches every `more.py` in any folder, and so does the string `"more"`, which could name an import.

    Args:
        files: the repository, including files that an answer removes.
        goals: paths of the goal files.
        cases: sources of the code that calls them.
    """
    by_stem: dict[str, list[str]] = {}
    for path in files:
        parts = path.removesuffix(".py").removesuffix("/__init__").split("/")
        if path.endswith(".py") and all(part.isidentifier() for part in parts):
            by_stem.setdefault(parts[-1], []).append(path)
    reached = set(goals)
    waiting = [*(files[path].data for path in goals), *cases]
    while waiting:
        for name in _module_names(waiting.pop()):
            new = [path for path in by_stem.get(name, ()) if path not in reached]
            reached.update(new)
            waiting += [files[path].data for path in new]
    return frozenset(reached)


def _module_names(source: bytes) -> Iterator[str]:
    """Yield the parts of all names in source that could name modules."""
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
    """Find every word of a text that could be a Python name."""
    return frozenset(re.findall(r"[^\W\d]\w*", source.decode("utf-8", "replace")))
