"""The Python files of a repository, taken apart at their top level: what they define and import, what classes have."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ..loader import File
from ..source import FunctionNode, SourceError, parse


@dataclass
class ClassParts:
    """A class at the top of a file."""

    node: ast.ClassDef
    members: dict[str, ast.AST] = field(default_factory=dict)
    """Methods, attributes of the class, and what its methods assign to `self`."""


class Module:
    """A Python file of the repository, taken apart at its top level."""

    def __init__(self, path: str, source: str) -> None:
        self.path, self.source = path, source
        self.defined: dict[str, ast.stmt] = {}
        self.classes: dict[str, ClassParts] = {}
        self.imports: dict[str, tuple[str, ...]] = {}
        self.stars: list[tuple[str, ...]] = []
        for node in _statements(parse(source).body):
            self.imports |= imported(node, path)
            match node:
                case ast.ClassDef(name=name):
                    self.defined[name] = node
                    self.classes[name] = ClassParts(node, dict(_members(node)))
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                    self.defined[name] = node
                case ast.ImportFrom(names=[ast.alias(name="*")]):
                    self.stars.append(module_parts(node, path))
                case ast.Assign() | ast.AnnAssign() | ast.AugAssign() | ast.For() | ast.With():
                    self.defined |= dict.fromkeys(stored(node), node)


def read_modules(files: Mapping[str, File]) -> dict[str, Module]:
    modules = {}
    for path, file in files.items():
        if path.endswith(".py"):
            try:
                modules[path] = Module(path, file.data.decode("utf-8"))
            except (SourceError, UnicodeDecodeError, RecursionError):
                continue
    return modules


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a file, also those that only run under a condition."""
    for node in body:
        yield node
        if isinstance(node, ast.If | ast.Try | ast.With):
            for block in ("body", "orelse", "finalbody"):
                yield from _statements(getattr(node, block, []))
            for handler in getattr(node, "handlers", ()):
                yield from _statements(handler.body)


def _members(node: ast.ClassDef) -> Iterator[tuple[str, ast.AST]]:
    assigned: dict[str, ast.AST] = {}
    for part in node.body:
        if isinstance(part, FunctionNode):
            for inner in ast.walk(part):
                match inner:
                    case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Store()):
                        assigned.setdefault(name, inner)
        else:
            assigned |= dict.fromkeys(stored(part), part)
    yield from assigned.items()
    yield from ((part.name, part) for part in node.body if isinstance(part, FunctionNode))


def imported(node: ast.AST, path: str) -> dict[str, tuple[str, ...]]:
    """Local name → parts of the dotted name that an import binds it to."""
    match node:
        case ast.Import(names=names):
            # `import a.b` binds `a`; the rest stands where it is used.
            return {
                item.asname or item.name.split(".")[0]: tuple(item.name.split("."))[: None if item.asname else 1]
                for item in names
            }
        case ast.ImportFrom(names=names):
            module = module_parts(node, path)
            return {item.asname or item.name: (*module, item.name) for item in names if item.name != "*"}
    return {}


def module_parts(node: ast.ImportFrom, path: str) -> tuple[str, ...]:
    """The module of `from module import ...`, dots at its beginning followed."""
    folder = path.split("/")[:-1]
    above = folder[: len(folder) - node.level + 1] if node.level else []
    return (*above, *(node.module.split(".") if node.module else ()))


def stored(node: ast.AST) -> list[str]:
    """The names that a statement or a target assigns to."""
    return [part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)]


def parts_of(node: ast.expr) -> tuple[str, ...]:
    """The parts of `a.b.c`; nothing for an expression that does not begin with a name."""
    attributes: list[str] = []
    while isinstance(node, ast.Attribute):
        attributes.append(node.attr)
        node = node.value
    return (node.id, *reversed(attributes)) if isinstance(node, ast.Name) else ()
