"""Definitions from other files of the repository that a goal function uses: a judge cannot follow a call it cannot see.

Found by names alone: what the goal file imports and the function mentions, and methods whose name has one definition in
the whole repository. What those use is found in the same way, as far as the budget goes.
"""

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ...loader import File
from ...source import SourceError, find_function, first_line, parse, split_lines


class Definition(NamedTuple):
    """A function, class or constant of the repository."""

    path: str
    name: str
    source: str


class _Module:
    """A Python file of the repository, taken apart at its top level."""

    def __init__(self, path: str, source: str) -> None:
        self.path = path
        tree = parse(source)
        lines = split_lines(source)
        self.top: dict[str, tuple[ast.stmt, str]] = {}
        self.methods: dict[str, list[tuple[ast.stmt, str]]] = {}
        self.imports: dict[str, tuple[str, str]] = {}
        """Local name → (module, name in it; empty for the module itself)."""
        for node in tree.body:
            for name in _names_of(node):
                self.top[name] = node, _text(lines, node)
            if isinstance(node, ast.ClassDef):
                for inner in node.body:
                    if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
                        self.methods.setdefault(inner.name, []).append((inner, _text(lines, inner)))
        for part in ast.walk(tree):
            match part:
                case ast.Import(names=names):
                    for alias in names:
                        self.imports[alias.asname or alias.name] = alias.name, ""
                case ast.ImportFrom(module=module, names=names):
                    for alias in names:
                        self.imports[alias.asname or alias.name] = module or "", alias.name


def used_definitions(
    files: Mapping[str, File], goal_file: str, goal_function: str, sources: Sequence[str], budget: int
) -> list[Definition]:
    """What the goal function uses from other files, nearest first.

    Args:
        files: the repository.
        sources: what the goal file is in the reference and in the answer; a file that cannot be parsed uses nothing.
        budget: characters of all definitions together; one that does not fit is left out.
    """
    modules = {}
    for path, file in files.items():
        if path.endswith(".py") and path != goal_file:
            try:
                modules[path] = _Module(path, file.data.decode("utf-8"))
            except (SourceError, UnicodeDecodeError):
                continue
    waiting: list[tuple[_Module, ast.AST]] = []
    for source in sources:
        try:
            waiting.append((_Module(goal_file, source), find_function(source, goal_function).node))
        except SourceError:
            continue
    found: dict[tuple[str, str], Definition] = {}
    while waiting:
        for module, name, node, text in _used(modules, *waiting.pop(0)):
            key = module.path, text
            if key not in found and len(text) <= budget:
                budget -= len(text)
                found[key] = Definition(module.path, name, text)
                waiting.append((module, node))
    return list(found.values())


def _used(
    modules: Mapping[str, _Module], module: _Module, tree: ast.AST
) -> Iterator[tuple[_Module, str, ast.AST, str]]:
    """(file, name, node, source) of each definition in other files, or in this one, that a part of `module` names."""
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    for name in sorted(names):
        if name in module.top and module.path in modules:  # the goal file itself is shown anyway
            yield module, name, *module.top[name]
        if name in module.imports:
            source, inner = module.imports[name]
            for other in _find(modules, source) if inner else ():
                if inner in other.top:
                    yield other, inner, *other.top[inner]
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute):
            continue
        for other in _find(modules, _module_of(module, node.value)):
            if node.attr in other.top:
                yield other, node.attr, *other.top[node.attr]
        methods = [(other, found) for other in modules.values() for found in other.methods.get(node.attr, ())]
        if len(methods) == 1 and not node.attr.startswith("__"):
            [(other, found)] = methods
            yield other, node.attr, *found


def _module_of(module: _Module, node: ast.expr) -> str:
    """The dotted name of the module that an expression such as `package.part` stands for, empty if none."""
    text = ast.unparse(node)
    if text in module.imports:
        source, inner = module.imports[text]
        return f"{source}.{inner}".strip(".") if inner else source
    return ""


def _find(modules: Mapping[str, _Module], name: str) -> Iterator[_Module]:
    """The files that a module's name can mean, from whatever folder it is looked for."""
    if not name:
        return
    for path, module in modules.items():
        dotted = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        if dotted == name or dotted.endswith(f".{name}"):
            yield module


def _names_of(node: ast.stmt) -> Iterator[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Assign(targets=targets):
            yield from (target.id for target in targets if isinstance(target, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name)):
            yield name


def _text(lines: Sequence[str], node: ast.stmt) -> str:
    return "".join(lines[first_line(node) - 1 : node.end_lineno]).rstrip()
