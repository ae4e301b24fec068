"""Leave out the demo below an answer: below the last definition, what names things stays, and what runs goes."""

import ast
import builtins
from collections.abc import Iterator

from lmrbench_data.base.source import FunctionNode, parse, split_lines
from lmrbench_data.base.text import plural

_NAMING = ast.Import | ast.ImportFrom | ast.Assign | ast.AnnAssign | ast.If | ast.Try | ast.Pass


def without_demo(code: str, file: str) -> tuple[str, str]:
    """Return code that parses without its demo, and a note on what was left out.

    Imports stay, assignments that call nothing and read nothing of the demo, and statements of the masked file.
    """
    tree, in_file = parse(code), set(map(ast.dump, parse(file).body))
    last = max(
        (number for number, node in enumerate(tree.body) if _defines(node)), default=len(tree.body)
    )
    below = tree.body[last + 1 :]
    kept, of_demo = list[ast.stmt](), set[str]()
    for node in below:
        replaces_builtin = not set(_names(node, ast.Store)).isdisjoint(dir(builtins))
        reads_demo = not of_demo.isdisjoint(_names(node, ast.Load))
        if ast.dump(node) in in_file or (
            _only_names(node) and not replaces_builtin and not reads_demo
        ):
            kept.append(node)
        else:
            of_demo.update(_names(node, ast.Store))
    if len(kept) == len(below):
        return code, ""
    above = "".join(split_lines(code)[: tree.body[last].end_lineno])
    note = f"left out below the last definition: {plural(len(below) - len(kept), 'statement')}"
    return above + "".join(f"{ast.unparse(node)}\n" for node in kept), note


def _defines(node: ast.stmt) -> bool:
    """Return whether a statement defines something, or chooses what to define, but not below `if __name__ == ...`."""
    parts = list(ast.walk(node)) if isinstance(node, ast.If | ast.Try) else [node]
    is_definition = any(isinstance(part, FunctionNode | ast.ClassDef) for part in parts)
    return is_definition and "__name__" not in _names(node, ast.Load)


def _only_names(node: ast.stmt) -> bool:
    """Return whether a statement does nothing but name things; calls do more."""
    parts = list(ast.walk(node))
    has_call = any(isinstance(part, ast.Call | ast.Await) for part in parts)
    return not has_call and all(
        isinstance(part, _NAMING) for part in parts if isinstance(part, ast.stmt)
    )


def _names(node: ast.stmt, context: type[ast.expr_context]) -> Iterator[str]:
    """Yield the names that a statement reads (`ast.Load`) or binds (`ast.Store`)."""
    return (
        part.id
        for part in ast.walk(node)
        if isinstance(part, ast.Name) and isinstance(part.ctx, context)
    )
