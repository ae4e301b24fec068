"""Tell the names that a piece of code reads from those that it binds itself: arguments, variables, its own imports."""

import ast
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from ..source import FunctionNode
from .modules import Module, imported, parts_of, stored

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class Local(NamedTuple):
    """What a name is bound to inside a function."""

    imported: tuple[str, ...] = ()
    """The parts of a dotted name; empty for a variable."""
    of_class: str = ""
    """The class whose `self` or `cls` it is."""


class Reader(Protocol):
    """Whoever wants to know what is read; returned are attributes of what nobody knows the type of."""

    def chain(self, module: Module, parts: tuple[str, ...]) -> Sequence[str]:
        """A name of a file, with the attributes behind it."""

    def dotted(self, parts: tuple[str, ...]) -> Sequence[str]:
        """An absolute dotted name."""

    def member(self, module: Module, of_class: str, name: str, *, above: bool = False) -> None:
        """`self.name` in a class; of one above it if it stands behind `super()`."""

    def method(self, name: str) -> None:
        """An attribute of what nobody knows the type of."""


class Scopes(ast.NodeVisitor):
    """Tells the names that a piece of code reads from those that it binds itself."""

    def __init__(self, reader: Reader, module: Module, of_class: str) -> None:
        self._reader, self._module, self._class = reader, module, of_class
        self._bound: list[dict[str, Local]] = []

    def outside(self, node: FunctionNode | ast.Lambda) -> None:
        """What is read when a function is defined: decorators and defaults. Annotations do nothing."""
        for part in (*getattr(node, "decorator_list", ()), *node.args.defaults, *filter(None, node.args.kw_defaults)):
            self.visit(part)

    def inside(self, node: FunctionNode | ast.Lambda, *, method: bool = False) -> None:
        """What is read when a function runs."""
        arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        names = [item.arg for item in (*arguments, node.args.vararg, node.args.kwarg) if item]
        bound = dict.fromkeys(names, Local())
        body = node.body if isinstance(node.body, list) else [node.body]
        bound |= bindings(body, self._module.path)
        if method and isinstance(node, FunctionNode) and arguments and not _is_static(node):
            bound[arguments[0].arg] = Local(of_class=self._class)
        self._within(bound, body)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """A function inside a function."""
        self.outside(node)
        self.inside(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        """The same."""
        self.outside(node)
        self.inside(node)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        """A function without a name."""
        self.outside(node)
        self.inside(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """A class inside a function, or one that the answer adds."""
        for part in (*node.decorator_list, *node.bases, *node.keywords):
            self.visit(part)
        self._within(bindings(node.body, self._module.path), node.body)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """An assignment with a type, which does nothing."""
        self.visit(node.target)
        if node.value:
            self.visit(node.value)

    def generic_visit(self, node: ast.AST) -> None:
        """Comprehensions have names of their own; all else is looked through."""
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
        """A name that is read."""
        if isinstance(node.ctx, ast.Load):
            self._read((node.id,))

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """A chain of attributes: its owner, as far as it has a name."""
        parts = parts_of(node)
        if parts and isinstance(node.ctx, ast.Load):
            self._read(parts)
            return
        match node.value:
            case ast.Call(func=ast.Name(id="super")) if self._class:
                self._reader.member(self._module, self._class, node.attr, above=True)
                return
        self.visit(node.value)
        if isinstance(node.ctx, ast.Load):
            self._attributes([node.attr])

    def _read(self, parts: tuple[str, ...]) -> None:
        local = next((scope[parts[0]] for scope in reversed(self._bound) if parts[0] in scope), None)
        if local is None:
            self._attributes(self._reader.chain(self._module, parts))
        elif local.imported:
            self._attributes(self._reader.dotted((*local.imported, *parts[1:])))
        elif local.of_class and len(parts) > 1:
            self._reader.member(self._module, local.of_class, parts[1])
            self._attributes(parts[2:])
        else:
            self._attributes(parts[1:])

    def _attributes(self, names: Sequence[str]) -> None:
        """Attributes of what nobody knows the type of."""
        for name in names:
            self._reader.method(name)

    def _within(self, bound: dict[str, Local], parts: Sequence[ast.AST]) -> None:
        self._bound.append(bound)
        for part in parts:
            self.visit(part)
        self._bound.pop()


def bindings(body: Sequence[ast.AST], path: str) -> dict[str, Local]:
    """What a block binds, blocks inside it included, functions and classes inside it not."""
    bound: dict[str, Local] = {}
    free: set[str] = set()
    waiting = list(body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            bound[node.name] = Local()
            continue
        if isinstance(node, ast.Lambda):
            continue
        if isinstance(node, _COMPREHENSIONS):  # only `:=` reaches out of it
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


def _is_static(node: FunctionNode) -> bool:
    return any(isinstance(item, ast.Name) and item.id == "staticmethod" for item in node.decorator_list)
