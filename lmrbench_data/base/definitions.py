"""Index the Python files of a repository: their definitions and imports, and the definition that a name refers to.

The index relies on syntax alone; no code runs. `base/uses.py` follows names through it.
"""

import ast
import builtins
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from ..loader import File
from .source import FunctionNode, SourceError, first_line, parse, split_lines

#: Maximum number of imports to follow before a name counts as a library's.
_MAX_HOPS = 10


class Module:
    """A Python file and its definitions at the top level."""

    def __init__(self, path: str, source: str) -> None:
        """Parse a file.

        Raises:
            SourceError: it is not Python.
        """
        self.path, self.source, self.tree = path, source, parse(source)
        self.defined: dict[str, ast.stmt] = {}
        self.members: dict[str, dict[str, ast.AST]] = {}
        """Class → its methods, its attributes, and those that its methods assign to `self`."""
        self.imports: dict[str, tuple[str, ...]] = {}
        self.stars: list[tuple[str, ...]] = []
        self._lines = split_lines(source)
        for node in _statements(self.tree.body):
            self.imports |= imported(node, path)
            match node:
                case ast.ClassDef(name=name):
                    self.defined[name] = node
                    self.members[name] = dict(_members(node))
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                    self.defined[name] = node
                case ast.ImportFrom(names=[ast.alias(name="*")]):
                    self.stars.append(_origin(node, path))
                case ast.Assign() | ast.AnnAssign() | ast.AugAssign() | ast.For() | ast.With():
                    self.defined |= dict.fromkeys(stored(node), node)

    def text(self, node: ast.stmt, end: int | None = None) -> str:
        """The source of a statement, decorators included.

        Args:
            end: 1-based line to stop at; by default the statement's last.
        """
        return "".join(self._lines[first_line(node) - 1 : end or node.end_lineno]).rstrip()

    def head(self, node: ast.stmt) -> str:
        """A class or function up to the end of its docstring, or up to its body without one."""
        body: list[ast.stmt] = getattr(node, "body", [node])
        documented = isinstance(node, FunctionNode | ast.ClassDef) and ast.get_docstring(node) is not None
        return self.text(node, body[0].end_lineno if documented else first_line(body[0]) - 1)

    def definition(self, name: str) -> ast.stmt | None:
        """The statement that defines `name` or `Class.member` at the top of the file."""
        owner, _, member = name.rpartition(".")
        found = self.members[owner].get(member) if owner in self.members else self.defined.get(name)
        return found if isinstance(found, ast.stmt) else None

    def functions(self) -> Iterator[tuple[str, FunctionNode]]:
        """Yield (`name` or `Class.name`, statement) of each function and method."""
        for name, node in self.defined.items():
            if isinstance(node, FunctionNode):
                yield name, node
            elif name in self.members:
                members = self.members[name].items()
                yield from ((f"{name}.{member}", part) for member, part in members if isinstance(part, FunctionNode))


class Origin(NamedTuple):
    """The definition that a dotted name refers to."""

    module: Module | None
    """None for a library."""
    name: str
    """Name at the top of the file, or the whole dotted name in a library; empty if the file does not define it."""
    rest: tuple[str, ...] = ()
    """The attributes that follow the name."""


class CodeIndex:
    """The Python files of a repository and the definitions in them; files that cannot be parsed are skipped."""

    def __init__(self, files: Mapping[str, File], *, without: Collection[str] = ()) -> None:
        """Index a repository.

        Args:
            without: paths of files to leave out.
        """
        self.modules: dict[str, Module] = {}
        self._by_name: dict[tuple[str, ...], Module] = {}
        self._owners: dict[str, list[tuple[Module, str]]] = {}
        for path, file in files.items():
            if path.endswith(".py") and path not in without:
                try:
                    self._add(Module(path, file.data.decode("utf-8")))
                except (SourceError, UnicodeDecodeError, RecursionError):
                    continue
        self._depth = max(map(len, self._by_name), default=0)

    def _add(self, module: Module) -> None:
        self.modules[module.path] = module
        parts = tuple(module.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".").split("."))
        # Repositories run from various folders, so an import may omit the first folders of a path.
        for start in range(len(parts)):
            self._by_name.setdefault(parts[start:], module)
        for full, _ in module.functions():
            owner, _, name = full.rpartition(".")
            if owner:
                self._owners.setdefault(name, []).append((module, owner))

    def resolve(self, module: Module, parts: tuple[str, ...], hops: int = 0) -> Origin:
        """Follow a dotted name in a file through imports to its definition."""
        if parts[0] in module.imports:
            return self.resolve_absolute((*module.imports[parts[0]], *parts[1:]), hops)
        if parts[0] in module.defined:
            return Origin(module, parts[0], parts[1:])
        for star in module.stars:
            found = self._find(star)
            if found and (parts[0] in found[0].defined or parts[0] in found[0].imports):
                return self.resolve(found[0], parts, hops + 1)
            if not found and not hasattr(builtins, parts[0]):
                return self.resolve_absolute((*star, *parts), hops)
        return Origin(module, "", parts[1:])

    def resolve_absolute(self, parts: tuple[str, ...], hops: int = 0) -> Origin:
        """Follow a dotted name that starts with a module."""
        found = self._find(parts)
        if found is None or hops > _MAX_HOPS:
            return Origin(None, ".".join(parts))
        module, rest = found
        return self.resolve(module, rest, hops + 1) if rest else Origin(module, "")

    def only_method(self, name: str) -> tuple[Module, str] | None:
        """File and class of a method whose name is unique among all classes; None otherwise."""
        owners = self._owners.get(name, [])
        return owners[0] if len(owners) == 1 else None

    def _find(self, parts: tuple[str, ...]) -> tuple[Module, tuple[str, ...]] | None:
        """Find the module named by the longest prefix of a dotted name; return it and the rest of the name."""
        for count in range(min(len(parts), self._depth), 0, -1):
            if parts[:count] in self._by_name:
                return self._by_name[parts[:count]], parts[count:]
        return None


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a file, including those inside `if`, `try` and `with`."""
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
    """Local name → parts of the dotted name that an import in the file `path` binds it to."""
    match node:
        case ast.Import(names=names):
            # `import a.b` binds `a`; uses of the name add the attribute.
            return {
                item.asname or item.name.split(".")[0]: tuple(item.name.split("."))[: None if item.asname else 1]
                for item in names
            }
        case ast.ImportFrom(names=names):
            module = _origin(node, path)
            return {item.asname or item.name: (*module, item.name) for item in names if item.name != "*"}
    return {}


def _origin(node: ast.ImportFrom, path: str) -> tuple[str, ...]:
    """The absolute module of `from module import ...`."""
    folder = path.split("/")[:-1]
    above = folder[: len(folder) - node.level + 1] if node.level else []
    return (*above, *(node.module.split(".") if node.module else ()))


def stored(node: ast.AST) -> list[str]:
    """The names that a statement or a target assigns to."""
    return [part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)]


def parts_of(node: ast.expr) -> tuple[str, ...]:
    """The parts of `a.b.c`; empty for an expression that does not start with a name."""
    attributes: list[str] = []
    while isinstance(node, ast.Attribute):
        attributes.append(node.attr)
        node = node.value
    return (node.id, *reversed(attributes)) if isinstance(node, ast.Name) else ()


def last_name(node: ast.expr) -> str:
    """The last part of a name; empty for other expressions."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
