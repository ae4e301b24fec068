"""What Python source says without doing: values that nobody uses, messages of asserts, words in annotations.

Taking it out never changes what a function returns, and only what provably does nothing is taken out: of an f-string
the words go and the fields stay. Strings that the code works with, messages of `raise` among them, are data and stay.
"""

import ast
import builtins
from collections.abc import Callable
from typing import Any, NamedTuple

from ...source import SourceError, parse

#: A string annotation that is longer says more than a type.
_MAX_TYPE = 100


class Prose(NamedTuple):
    """An expression with words in it that do nothing, and what it is without them."""

    said: ast.expr
    """As it stands in the source, with its position."""
    left: ast.expr


def take_out(tree: ast.Module, keep: Callable[[ast.expr], bool] = lambda node: False) -> list[Prose]:
    """Take the prose out of a tree, in place, and return what was there.

    Args:
        keep: tells which expressions stay as they are.

    Raises:
        RecursionError: expressions are nested too deeply.
    """
    types = _Types(tree)
    reducers: dict[type[ast.AST], tuple[str, Callable[[ast.expr], ast.expr]]] = {
        ast.Expr: ("value", _unused),
        ast.Assert: ("msg", _unused),
        ast.arg: ("annotation", types.reduce),
        ast.AnnAssign: ("annotation", types.reduce),
        ast.FunctionDef: ("returns", types.reduce),
        ast.AsyncFunctionDef: ("returns", types.reduce),
    }
    for name, field in (("TypeVar", "bound"), ("TypeAlias", "value")):  # since Python 3.12
        if hasattr(ast, name):
            reducers[getattr(ast, name)] = (field, types.reduce)
    found = []
    for node in list(ast.walk(tree)):
        field, reduce = reducers.get(type(node), ("", _unused))
        said = getattr(node, field, None) if field else None
        if said is None or not _has_words(said):
            continue
        left = reduce(said)
        if left is not said and not keep(said):
            setattr(node, field, left)
            found.append(Prose(said, left))
    return found


def same_code(first: str, second: str) -> bool:
    """Whether two sources have the same syntax tree, prose and statements that do nothing aside.

    Raises:
        SourceError: one of them does not parse.
    """
    trees = parse(first), parse(second)
    try:
        for tree in trees:
            take_out(tree)
    except RecursionError:
        return False
    for tree in trees:
        for node in ast.walk(tree):
            for field in ("body", "orelse", "finalbody"):
                if isinstance(body := getattr(node, field, None), list):
                    setattr(node, field, [item for item in body if not _does_nothing(item)])
    return same_tree(*trees)


def same_tree(first: ast.AST, second: ast.AST) -> bool:
    """Whether two trees are equal, wherever their nodes stand in the source; for trees of any depth."""
    pairs: list[tuple[Any, Any]] = [(first, second)]
    while pairs:
        one, other = pairs.pop()
        if type(one) is not type(other):
            return False
        if isinstance(one, ast.AST):
            # `kind` only tells whether a string was written with the prefix `u`.
            fields = [field for field in one._fields if field != "kind"]
            pairs += [(getattr(one, field, None), getattr(other, field, None)) for field in fields]
        elif isinstance(one, list):
            if len(one) != len(other):
                return False
            pairs += zip(one, other, strict=True)
        elif one != other and one == one:
            return False
    return True


def _unused(node: ast.expr) -> ast.expr:
    """An expression whose value nobody uses, without words; the same object if there is nothing to take out."""
    if not _has_words(node):
        return node
    if _kind(node):
        return ast.Constant(...)
    match node:
        case ast.JoinedStr():
            return _fields(node)
        case ast.BinOp(op=ast.Add()):
            left, right = _added(node.left), _added(node.right)
            return node if left is node.left and right is node.right else ast.BinOp(left, node.op, right)
        case ast.Tuple() | ast.List() | ast.Set():
            elements = [_unused(item) for item in node.elts]
            return node if _all_same(elements, node.elts) else _with(node, elts=elements)
        case ast.Dict():
            values = [_unused(item) for item in node.values]
            return node if _all_same(values, node.values) else _with(node, values=values)
        case ast.IfExp():
            body, orelse = _unused(node.body), _unused(node.orelse)
            return node if body is node.body and orelse is node.orelse else ast.IfExp(node.test, body, orelse)
        case ast.BoolOp():
            last = _unused(node.values[-1])
            return node if last is node.values[-1] else ast.BoolOp(node.op, [*node.values[:-1], last])
    return node


def _added(node: ast.expr) -> ast.expr:
    """A term of an unused sum: what is text stays text, because adding a number to it is an error."""
    match node:
        case ast.Constant(value=str() | bytes()):
            return ast.Constant(type(node.value)()) if node.value else node
        case ast.JoinedStr():
            return _fields(node)
        case ast.BinOp(op=ast.Add()):
            return _unused(node) if not _kind(node) else ast.Constant(b"" if _kind(node) == "bytes" else "")
    return node


def _fields(node: ast.JoinedStr) -> ast.expr:
    """An f-string without the text between its fields."""
    fields = [part for part in node.values if isinstance(part, ast.FormattedValue) and not _kind(part.value)]
    return node if len(fields) == len(node.values) else ast.JoinedStr(list(fields))


def _kind(node: ast.expr) -> str:
    """The type of an expression that can neither do anything nor fail; empty for all others."""
    match node:
        case ast.Constant():
            return type(node.value).__name__
        case ast.JoinedStr():
            parts = [part.value if isinstance(part, ast.FormattedValue) else part for part in node.values]
            plain = not any(isinstance(part, ast.FormattedValue) and part.format_spec for part in node.values)
            return "str" if plain and all(map(_kind, parts)) else ""
        case ast.BinOp(op=ast.Add()):
            left = _kind(node.left)
            return left if left in ("str", "bytes") and left == _kind(node.right) else ""
        case ast.BinOp(
            op=ast.Mult(), left=ast.Constant(value=str() | bytes() as text), right=ast.Constant(value=int())
        ):
            return type(text).__name__
        case ast.Tuple() | ast.List():
            return type(node).__name__.lower() if all(map(_kind, node.elts)) else ""
        case ast.Set():
            return "set" if all(isinstance(item, ast.Constant) for item in node.elts) else ""
        case ast.Dict():
            keys = all(isinstance(key, ast.Constant) for key in node.keys)
            return "dict" if keys and all(map(_kind, node.values)) else ""
        case ast.Compare():
            harmless = all(isinstance(op, ast.Eq | ast.NotEq | ast.Is | ast.IsNot) for op in node.ops)
            return "bool" if harmless and all(map(_kind, (node.left, *node.comparators))) else ""
        case ast.UnaryOp(op=ast.Not()):
            return "bool" if _kind(node.operand) else ""
        case ast.BoolOp():
            return "object" if all(map(_kind, node.values)) else ""
        case ast.IfExp():
            return "object" if all(map(_kind, (node.test, node.body, node.orelse))) else ""
        case ast.Lambda():
            defaults = [*node.args.defaults, *(item for item in node.args.kw_defaults if item)]
            return "function" if all(map(_kind, defaults)) else ""
    return ""


class _Types:
    """Annotations of one file: a string in one stays if it is made of names that the code has anyway."""

    def __init__(self, tree: ast.Module) -> None:
        self._names = set(dir(builtins))
        for node in ast.walk(tree):
            match node:
                case ast.Name(id=name) | ast.Attribute(attr=name) | ast.ClassDef(name=name):
                    self._names.add(name)
                case ast.alias(name=name, asname=asname):
                    self._names.update((asname or name).split("."))

    def reduce(self, node: ast.expr) -> ast.expr:
        """An annotation without words; the same object if there is nothing to take out."""
        match node:
            case ast.Constant(value=str(text)):
                return node if self._is_type(text) else ast.Constant(...)
            case ast.Subscript():
                value, index = self.reduce(node.value), self.reduce(node.slice)
                return node if value is node.value and index is node.slice else _with(node, value=value, slice=index)
            case ast.Tuple() | ast.List():
                elements = [self.reduce(item) for item in node.elts]
                return node if _all_same(elements, node.elts) else _with(node, elts=elements)
            case ast.BinOp(op=ast.BitOr()):
                left, right = self.reduce(node.left), self.reduce(node.right)
                return node if left is node.left and right is node.right else ast.BinOp(left, node.op, right)
        return _unused(node)

    def _is_type(self, text: str) -> bool:
        if len(text) > _MAX_TYPE or "#" in text or not text.isprintable():
            return False
        try:
            [statement] = parse(text.strip()).body
        except (SourceError, ValueError):
            return False
        if not isinstance(statement, ast.Expr) or isinstance(statement.value, ast.Tuple):
            return False
        return all(map(self._is_part, ast.walk(statement.value)))

    def _is_part(self, node: ast.AST) -> bool:
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name):
                return name in self._names
            case ast.Constant(value=value):
                return value is None or value is ...
        return isinstance(node, ast.Subscript | ast.Tuple | ast.List | ast.BinOp | ast.BitOr | ast.Load)


def _has_words(node: ast.expr) -> bool:
    return any(isinstance(part, ast.Constant) and isinstance(part.value, str | bytes) for part in ast.walk(node))


def _does_nothing(node: ast.AST) -> bool:
    return isinstance(node, ast.Pass) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))


def _all_same(first: list[ast.expr], second: list[ast.expr]) -> bool:
    return all(one is other for one, other in zip(first, second, strict=True))


def _with(node: ast.expr, **fields: Any) -> ast.expr:
    """A copy of a node with other fields."""
    new: ast.expr = type(node)(**{**{name: getattr(node, name) for name in node._fields}, **fields})
    return new
