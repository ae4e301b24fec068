"""The names that a piece of code reads from elsewhere, as opposed to those that it binds: arguments, variables."""

import ast
from collections.abc import Sequence
from enum import Enum, auto
from typing import NamedTuple

from ..base.definitions import imported, is_static, parts_of, stored
from ..base.source import FunctionNode

_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class Local(NamedTuple):
    """A name that is bound inside a function."""

    imported: tuple[str, ...] = ()
    """The parts of a dotted name; empty for a variable."""
    is_self: bool = False
    """It is the first argument of a method."""


class From(Enum):
    """The scope in which code reads a name."""

    FILE = auto()
    """The top of its file, through imports there, or the builtins."""
    IMPORT = auto()
    """An import of its own; the parts begin with a module."""
    SELF = auto()
    """Its own class, or a base."""
    SUPER = auto()
    """A base of its class."""
    UNKNOWN = auto()
    """An object of unknown type: the parts are attributes."""


class Read(NamedTuple):
    """A name that a piece of code reads, with the attributes behind it."""

    origin: From
    parts: tuple[str, ...]


def reads_of_function(path: str, node: FunctionNode, *, is_method: bool, signature: bool = True) -> list[Read]:
    """The names that a function reads, in order.

    Args:
        path: of its file.
        is_method: its first argument is `self` or `cls`, unless it is static.
        signature: also those that its decorators and defaults read.
    """
    scopes = _Scopes(path, is_method=is_method)
    if signature:
        scopes.outside(node)
    scopes.inside(node, is_method=is_method)
    return scopes.reads


def reads_of_statement(path: str, node: ast.AST) -> list[Read]:
    """The names that a statement at the top of a file reads, in order."""
    scopes = _Scopes(path)
    scopes.visit(node)
    return scopes.reads


class _Scopes(ast.NodeVisitor):
    """Collects the names that a piece of code reads and does not bind itself."""

    def __init__(self, path: str, *, is_method: bool = False) -> None:
        self.reads: list[Read] = []
        self._path, self._is_method = path, is_method
        self._bound: list[dict[str, Local]] = []

    def outside(self, node: FunctionNode | ast.Lambda) -> None:
        """Take in the code that runs when a function is defined: decorators and defaults. Annotations do not count."""
        for part in (*getattr(node, "decorator_list", ()), *node.args.defaults, *filter(None, node.args.kw_defaults)):
            self.visit(part)

    def inside(self, node: FunctionNode | ast.Lambda, *, is_method: bool = False) -> None:
        """Take in the code that runs when a function is called."""
        arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        names = [item.arg for item in (*arguments, node.args.vararg, node.args.kwarg) if item]
        bound = dict.fromkeys(names, Local())
        body = node.body if isinstance(node.body, list) else [node.body]
        bound |= bindings(body, self._path)
        if is_method and isinstance(node, FunctionNode) and arguments and not is_static(node):
            bound[arguments[0].arg] = Local(is_self=True)
        self._within(bound, body)

    def visit_FunctionDef(self, node: FunctionNode | ast.Lambda) -> None:
        """Take in a function inside a function."""
        self.outside(node)
        self.inside(node)

    visit_AsyncFunctionDef = visit_Lambda = visit_FunctionDef

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Take in a class inside a function, or one that the answer adds."""
        for part in (*node.decorator_list, *node.bases, *node.keywords):
            self.visit(part)
        self._within(bindings(node.body, self._path), node.body)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """Take in an assignment without its annotation."""
        self.visit(node.target)
        if node.value:
            self.visit(node.value)

    def generic_visit(self, node: ast.AST) -> None:
        """Give comprehensions a scope of their own; look through all else."""
        if not isinstance(node, _COMPREHENSIONS):
            super().generic_visit(node)
            return
        first, *others = node.generators
        self.visit(first.iter)
        targets = [name for part in node.generators for name in stored(part.target)]
        result = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        inner = [*first.ifs, *(part for other in others for part in (other.iter, *other.ifs)), *result]
        self._within(dict.fromkeys(targets, Local()), inner)

    def visit_Name(self, node: ast.Name) -> None:
        """Take in a name that is read."""
        if isinstance(node.ctx, ast.Load):
            self._read((node.id,))

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """Take in a chain of attributes with the name that it begins with, if there is one."""
        parts = parts_of(node)
        if parts and isinstance(node.ctx, ast.Load):
            self._read(parts)
            return
        match node.value:
            case ast.Call(func=ast.Name(id="super")) if self._is_method:
                self._add(From.SUPER, (node.attr,))
                return
        self.visit(node.value)
        if isinstance(node.ctx, ast.Load):
            self._add(From.UNKNOWN, (node.attr,))

    def _read(self, parts: tuple[str, ...]) -> None:
        local = next((scope[parts[0]] for scope in reversed(self._bound) if parts[0] in scope), None)
        if local is None:
            self._add(From.FILE, parts)
        elif local.imported:
            self._add(From.IMPORT, (*local.imported, *parts[1:]))
        else:
            self._add(From.SELF if local.is_self else From.UNKNOWN, parts[1:])

    def _add(self, origin: From, parts: tuple[str, ...]) -> None:
        if parts:
            self.reads.append(Read(origin, parts))

    def _within(self, bound: dict[str, Local], parts: Sequence[ast.AST]) -> None:
        self._bound.append(bound)
        for part in parts:
            self.visit(part)
        self._bound.pop()


def bindings(body: Sequence[ast.AST], path: str) -> dict[str, Local]:
    """The names that a block binds, including blocks inside it, without functions and classes inside it."""
    bound: dict[str, Local] = {}
    free: set[str] = set()
    waiting = list(body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, FunctionNode | ast.ClassDef):
            bound[node.name] = Local()
            continue
        if isinstance(node, ast.Lambda):
            continue
        if isinstance(node, _COMPREHENSIONS):  # only `:=` binds a name outside it
            walrus = [part.target.id for part in ast.walk(node) if isinstance(part, ast.NamedExpr)]
            bound |= dict.fromkeys(walrus, Local())
            continue
        if isinstance(node, ast.Global | ast.Nonlocal):
            free.update(node.names)
        for name, parts in imported(node, path).items():
            bound[name] = Local(parts)
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                bound.setdefault(name, Local())
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                bound.setdefault(name, Local())
            case ast.MatchMapping(rest=str(name)):
                bound.setdefault(name, Local())
        waiting += ast.iter_child_nodes(node)
    return {name: local for name, local in bound.items() if name not in free}
