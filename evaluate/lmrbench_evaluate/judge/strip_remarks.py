"""Print code anew from its syntax tree, without the words that have no effect.

Printing drops comments and layout. Also removed are docstrings, unused strings, words in
annotations, and strings assigned to names that no code reads: in all of them a candidate could
address its judge. Strings that the code works with are data and stay, including messages of
`raise`.
"""

import ast
import re
from collections.abc import Collection
from typing import Any

from lmrbench_data.base.source import FunctionNode, SourceError, parse

#: Printed code may read its docstrings, annotations or variables, by a name that it may compute.
_LOOKS_AT_ITSELF = re.compile(
    r"__(?:doc|code|dict|annotations|annotate|getattribute|builtins)__(?! = )"
    r"|\b(?:co_consts|f_locals|attrgetter|getdoc|getmembers|getfullargspec|signature)\b"
    r"|\b(?:get_annotations|get_type_hints)\b|\bgetattr\b(?!\([\w.]+, '\w+'[,)])"
    r"|(?<!\.)\b(?:builtins|dir|eval|exec|globals|locals|vars)\b"
)
#: A type in quotation marks: no two words stand beside each other.
_TYPE = re.compile(r"(?!.*\w +\w)[\w\[\],.| ]{1,100}")
#: Expressions that may work with the strings in them.
_AT_WORK = (ast.Call, ast.Subscript, ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)


def looks_at_itself(source: str) -> bool:
    """Return whether code may read its own docstrings, annotations or unread variables."""
    try:
        return bool(_LOOKS_AT_ITSELF.search(code_only(source)))
    except SourceError:
        return False


def code_only(
    source: str, read_elsewhere: Collection[str] = (), *, with_words: bool = False
) -> str:
    """Print Python source anew without the words that have no effect; equal results behave alike.

    Args:
        read_elsewhere: names of this file that other files may read.
        with_words: whether all words but comments stay, because the code may look at itself.

    Raises:
        SourceError: it cannot be parsed or printed, or the printed text has another syntax tree; it
            must not be shown.
    """
    try:
        tree = parse(source)
        if not with_words:
            _WithoutWords(names_read(tree).union(read_elsewhere)).visit(tree)
            ast.fix_missing_locations(tree)
        text = ast.unparse(tree)
        if ast.dump(parse(text)) != ast.dump(tree):
            raise ValueError("another syntax tree")
    except (SourceError, ValueError, RecursionError) as error:
        problem = f"{type(error).__name__} {error}"
        raise SourceError(f"the code cannot be printed anew: {problem}") from None
    return f"{text}\n"


def names_read(tree: ast.AST) -> set[str]:
    """Return the names that code reads, or may refer to by a string."""
    names: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Load() | ast.Del()) | ast.Attribute(attr=name):
                names.add(name)
            case ast.AugAssign(target=ast.Name(id=name)) | ast.Constant(value=str(name)):
                names.add(name)
            case ast.Global(names=shared) | ast.Nonlocal(names=shared):
                names.update(shared)
    return names


class _WithoutWords(ast.NodeTransformer):
    """Removes the words that have no effect from a tree."""

    def __init__(self, read: set[str]) -> None:
        self._read: set[str] | None = read
        """Names that the scope reads; None for a class, whose attributes are read in many ways."""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        for field in ("annotation", "returns", "bound"):
            if _holds_words(getattr(node, field, None)):
                setattr(node, field, ast.Constant(...))
        outer = self._read
        if isinstance(node, ast.ClassDef):
            self._read = None
        elif isinstance(node, FunctionNode):
            self._read = names_read(node)
        super().generic_visit(node)
        self._read = outer
        _fill_empty_blocks(node)
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        node.value = _Blank().visit(node.value)
        return None if isinstance(node.value, ast.Constant) else self.generic_visit(node)

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        message = node.msg and _Blank().visit(node.msg)
        node.msg = None if isinstance(message, ast.Constant) else message
        return self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign | ast.AnnAssign) -> ast.AST:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if node.value and all(self._is_unread(target) for target in targets):
            node.value = _Blank().visit(node.value)
        return self.generic_visit(node)

    visit_AnnAssign = visit_Assign

    def _is_unread(self, target: ast.expr) -> bool:
        if self._read is None or not isinstance(target, ast.Name):
            return False
        return target.id not in self._read


def _fill_empty_blocks(node: ast.AST) -> None:
    """Put `pass` where a removed statement was the only one."""
    if getattr(node, "body", None) == []:
        node.body = [ast.Pass()]  # type: ignore[attr-defined]
    if isinstance(node, ast.Try) and not node.handlers and not node.finalbody:
        node.finalbody = [ast.Pass()]


class _Blank(ast.NodeTransformer):
    """Empties the strings of an unused expression, but not where code works with them."""

    def visit(self, node: ast.AST) -> Any:
        is_format = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod)
        return node if is_format or isinstance(node, _AT_WORK) else super().visit(node)

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        if isinstance(node.value, str | bytes):
            return ast.Constant(type(node.value)())
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        fields = [part for part in node.values if isinstance(part, ast.FormattedValue)]
        node.values = [
            part for part in fields if part.format_spec or not isinstance(part.value, ast.Constant)
        ]
        return node if node.values else ast.Constant("")


def _holds_words(annotation: ast.expr | None) -> bool:
    """Return whether an annotation holds strings that are not types and no call works with."""
    parts = list(ast.walk(annotation)) if isinstance(annotation, ast.expr) else []
    if any(isinstance(part, ast.Call) for part in parts):
        return False
    texts = [part.value for part in parts if isinstance(part, ast.Constant)]
    return any(isinstance(text, str | bytes) and not _TYPE.fullmatch(str(text)) for text in texts)
