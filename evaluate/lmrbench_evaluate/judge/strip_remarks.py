"""Print code anew from its syntax tree, without the words that have no effect.

Printing drops comments and layout. Also removed are unused values, messages of asserts, words in annotations, and
strings assigned to names that nobody reads. None of them changes a function's result, and in all of them a candidate
could address its judge. Strings that the code works with are data and stay, including messages of `raise`.
"""

import ast
import builtins
import re
from collections.abc import Collection, Sequence

from lmrbench_data.base.source import FunctionNode, SourceError, parse

#: A longer string annotation states more than a type.
_MAX_TYPE = 100
#: Code with one of these names may read any other name without mentioning it.
_LOOKS_AT_NAMES = frozenset({"dir", "eval", "exec", "f_locals", "getattr", "globals", "locals", "vars", "__dict__"})
#: Code with one of these names may read docstrings or annotations, which then are data.
_LOOKS_AT_WORDS = {"__doc__", "getdoc", "__code__", "co_consts", "__dict__", "__getattribute__", "attrgetter"}
_LOOKS_AT_WORDS |= {"__annotations__", "__annotate__", "get_annotations", "get_type_hints", "signature"}
_LOOKS_AT_WORDS |= {"getfullargspec", "getmembers"}
#: Functions that may find them by a name that no code spells out.
_COMPUTES_NAMES = {"eval", "exec", "vars"}
#: Variables of a module that Python itself reads, as names.
_READ_BY_PYTHON = frozenset({"__all__", "__name__", "__package__", "__path__"})
_TEXT = (str, bytes)


def names_in(*texts: str) -> set[str]:
    """Return every word of these texts that could be a Python name."""
    return {name for text in texts for name in re.findall(r"[^\W\d]\w*", text)}


def reads_words(source: str) -> bool:
    """Return whether code may read docstrings or annotations: by name, in a string, or by a name that it computes."""
    tree = parse(source)
    plain_getattr = set[ast.AST]()
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="getattr") as function, args=[_, ast.Constant(), *_]):
                plain_getattr.add(function)
            case ast.Name(id=name) if name in _COMPUTES_NAMES or (name == "getattr" and node not in plain_getattr):
                return True
    return bool(_names_read(tree) & _LOOKS_AT_WORDS)


def code_only(source: str, read_elsewhere: Collection[str] = (), *, with_words: bool = False) -> str:
    """Print Python source anew without the words that have no effect; equal results behave alike.

    Args:
        read_elsewhere: names of this file that other files may read.
        with_words: whether docstrings and annotations stay, because code reads them.

    Raises:
        SourceError: it cannot be parsed or printed, or the printed text has another syntax tree; it must not be shown.
    """
    try:
        tree = parse(source)
        tree = ast.fix_missing_locations(_Bare(tree, read_elsewhere, with_words).visit(tree))
        text = ast.unparse(tree)
        if ast.dump(parse(text)) != ast.dump(tree):
            raise ValueError("another syntax tree")
    except (SourceError, ValueError, RecursionError) as error:
        raise SourceError(f"the code cannot be printed anew: {type(error).__name__} {error}") from None
    return f"{text}\n"


class _Bare(ast.NodeTransformer):
    """Removes the parts of a tree that have no effect."""

    def __init__(self, tree: ast.Module, read_elsewhere: Collection[str], with_words: bool) -> None:
        self._with_words = with_words
        scopes = [node for node in ast.walk(tree) if isinstance(node, ast.Module | ast.ClassDef | FunctionNode)]
        self._docstrings = {scope.body[0] for scope in scopes if scope.body} if with_words else set()
        self._names = set(dir(builtins))
        for node in ast.walk(tree):
            match node:
                case ast.Name(id=name) | ast.Attribute(attr=name) | ast.ClassDef(name=name):
                    self._names.add(name)
                case ast.alias():
                    self._names.update((node.asname or node.name).split("."))
        self._read_in_file = _names_read(tree)
        self._read = self._read_in_file | set(read_elsewhere)
        """Names whose values may be used in the visitor's current scope."""
        self._scope: type[ast.AST] = ast.Module

    def generic_visit(self, node: ast.AST) -> ast.AST:
        for field in ("annotation", "returns", "bound", "value" if type(node).__name__ == "TypeAlias" else ""):
            if not self._with_words and isinstance(found := getattr(node, field, None), ast.expr):
                setattr(node, field, _Annotation(self._names).visit(found))
        outside = self._scope, self._read
        if isinstance(node, FunctionNode):
            if self._scope is not ast.FunctionDef:
                self._read = _names_read(node) | self._read_in_file & _LOOKS_AT_NAMES
            self._scope = ast.FunctionDef
        elif isinstance(node, ast.ClassDef):
            self._scope = ast.ClassDef
        super().generic_visit(node)
        self._scope, self._read = outside
        if getattr(node, "body", None) == [] and not isinstance(node, ast.Module):
            node.body = [ast.Pass()]  # type: ignore[attr-defined]
        if isinstance(node, ast.Try) and not node.handlers and not node.finalbody:
            node.finalbody = [ast.Pass()]
        return node

    def visit_Pass(self, node: ast.Pass) -> None:
        """Remove `pass`; `generic_visit` puts it back into bodies that are then empty."""

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        node.kind = None  # whether a string was written with the prefix `u`
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        if node in self._docstrings and isinstance(node.value, ast.Constant):
            return self.generic_visit(node)
        node.value = _unused(node.value)
        return None if isinstance(node.value, ast.Constant) else self.generic_visit(node)

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        said = _unused(node.msg) if node.msg else None
        node.msg = None if isinstance(said, ast.Constant) else said
        return self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> ast.AST | None:
        return None if self._is_dead(node.targets, node.value) else self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        return None if self._is_dead([node.target], node.value) else self.generic_visit(node)

    def _is_dead(self, targets: list[ast.expr], value: ast.expr | None) -> bool:
        """Return whether an assignment binds strings to names that nothing reads (class attributes aside)."""
        if value is None or self._scope is ast.ClassDef or self._read & _LOOKS_AT_NAMES:
            return False
        parts = (part.value for part in ast.walk(value) if isinstance(part, ast.Constant))
        texts = [part for part in parts if isinstance(part, _TEXT)]
        names = [target.id for target in targets if isinstance(target, ast.Name)]
        are_names = all(re.fullmatch(r"[\w.]+", str(text)) for text in texts)
        if not texts or (are_names and _READ_BY_PYTHON.intersection(names)):
            return False
        unread = len(names) == len(targets) and not self._read.intersection(names)
        return unread and isinstance(_unused(value), ast.Constant)


def _names_read(tree: ast.AST) -> set[str]:
    """Return the names that code reads, or may refer to by a string."""
    read: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Load() | ast.Del()) | ast.Attribute(attr=name):
                read.add(name)
            case ast.AugAssign(target=ast.Name(id=name)) | ast.Constant(value=str(name)):
                read.add(name)
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                read.update(names)
    return read


class _Annotation(ast.NodeTransformer):
    """Removes words from an annotation; a string stays if the code contains all of its names elsewhere."""

    def __init__(self, names: Collection[str]) -> None:
        self._names = names

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        if not isinstance(node.value, _TEXT):
            return node
        text = node.value if isinstance(node.value, str) else ""
        is_type = len(text) <= _MAX_TYPE and re.fullmatch(r"[\w\[\],.| ]+", text) and not re.search(r"\w +\w", text)
        return node if is_type and all(name in self._names for name in re.findall(r"\w+", text)) else ast.Constant(...)

    def visit_Call(self, node: ast.Call) -> ast.Call:
        """Keep the arguments of a call: the callee works with them."""
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        return _unused(node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        return _unused(node) if isinstance(node.op, ast.Add) else self.generic_visit(node)


def _unused(node: ast.expr) -> ast.expr:
    """Return an unused expression without its words; its effects and errors stay (a constant has none)."""
    parts: Sequence[ast.expr | None]
    match node:
        case ast.Constant():
            parts = []
        case ast.JoinedStr(values=values):
            parts = node.values = [
                part for part in values if isinstance(part, ast.FormattedValue) and not _is_plain(part)
            ]
        case ast.Tuple() | ast.List():
            parts = node.elts = list(map(_unused, node.elts))
        case ast.Set():
            parts = node.elts = list(map(_truth, node.elts))
        case ast.Dict():
            node.keys, node.values = [key and _truth(key) for key in node.keys], list(map(_unused, node.values))
            parts = [*node.keys, *node.values]
        case ast.IfExp():
            node.test, node.body, node.orelse = _truth(node.test), _unused(node.body), _unused(node.orelse)
            parts = [node.test, node.body, node.orelse]
        case ast.BoolOp(values=[*first, last]):
            parts = node.values = [*map(_truth, first), _unused(last)]
        case ast.UnaryOp(op=ast.Not()):
            node.operand = _unused(node.operand)
            parts = [node.operand]
        case ast.Compare(ops=ops) if all(isinstance(op, ast.Eq | ast.NotEq | ast.Is | ast.IsNot) for op in ops):
            parts = [node.left, *node.comparators]
        case ast.Lambda(args=arguments):
            node.body = ast.Constant(...)
            parts = [*arguments.defaults, *filter(None, arguments.kw_defaults)]
        case ast.BinOp(op=ast.Mult(), right=ast.Constant(value=int())):
            parts = [_empty(node.left)]
        case ast.BinOp(op=ast.Add()):
            node = _added(node)
            parts = [node]
        case _:
            return node
    return ast.Constant(...) if all(isinstance(part, ast.Constant) for part in parts) else node


def _added(node: ast.expr) -> ast.expr:
    """Return a term of an unused sum; text stays text, because adding a number to it is an error."""
    match node:
        case ast.JoinedStr():
            left = _unused(node)
            return ast.Constant("") if isinstance(left, ast.Constant) else left
        case ast.BinOp(op=ast.Add()):
            node.left, node.right = _added(node.left), _added(node.right)
            first, second = _empty(node.left), _empty(node.right)
            return first if first and second and type(first.value) is type(second.value) else node
    return _empty(node) or node


def _empty(node: ast.expr | None) -> ast.Constant | None:
    """Return the empty text of a text's type; None for anything else."""
    is_text = isinstance(node, ast.Constant) and isinstance(node.value, _TEXT)
    return ast.Constant(type(node.value)()) if is_text else None  # type: ignore[union-attr]


def _truth(node: ast.expr) -> ast.expr:
    """Return a value of which only truth and hashability matter: a constant text that is true becomes `...`."""
    return ast.Constant(...) if _empty(node) and node.value else node  # type: ignore[attr-defined]


def _is_plain(field: ast.FormattedValue) -> bool:
    return isinstance(field.value, ast.Constant) and field.format_spec is None
