"""Leave out the demo below an answer."""

import ast
import builtins
from collections.abc import Sequence

from lmrbench_data.base.source import FunctionNode, parse, split_lines
from lmrbench_data.base.text import plural

_NAMING = ast.Import | ast.ImportFrom | ast.Assign | ast.AnnAssign | ast.If | ast.Try | ast.Pass


def without_demo(code: str, file: str) -> tuple[str, str]:
    """Return code that parses without its demo, and a note on what was left out.

    The demo starts with the first statement below the last definition that does more than name
    things. Statements of the masked file are never part of it.
    """
    body = parse(code).body
    definitions = [number for number, node in enumerate(body) if _defines(node)]
    if not definitions:
        return code, ""
    last = definitions[-1]
    below = body[last + 1 :]
    remaining = _remaining(below, file)
    if len(remaining) == len(below):
        return code, ""
    left_out = plural(len(below) - len(remaining), "statement")
    lines = split_lines(code)[: body[last].end_lineno]
    lines += [f"{ast.unparse(node)}\n" for node in remaining]
    return "".join(lines), f"left out below the last definition: {left_out}"


def _remaining(nodes: Sequence[ast.stmt], file: str) -> list[ast.stmt]:
    """Return the statements before the first that does more than name things, or of the file."""
    statements = {ast.dump(node) for node in parse(file).body}
    remaining = []
    is_demo = False
    for node in nodes:
        is_in_file = ast.dump(node) in statements
        if not is_in_file and not _only_names(node):
            is_demo = True
        if is_in_file or not is_demo:
            remaining.append(node)
    return remaining


def _defines(node: ast.stmt) -> bool:
    """Return whether a statement defines something, but not below `if __name__ == ...`."""
    is_choice = isinstance(node, ast.If | ast.Try)
    if is_choice and any(getattr(part, "id", "") == "__name__" for part in ast.walk(node)):
        return False
    parts = ast.walk(node) if is_choice else [node]
    return any(isinstance(part, FunctionNode | ast.ClassDef) for part in parts)


def _only_names(node: ast.stmt) -> bool:
    """Return whether a statement calls nothing and names things, other than Python's builtins."""
    for part in ast.walk(node):
        if isinstance(part, ast.Call | ast.Await):
            return False
        if isinstance(part, ast.stmt) and not isinstance(part, _NAMING):
            return False
        is_stored = isinstance(getattr(part, "ctx", None), ast.Store)
        if is_stored and hasattr(builtins, getattr(part, "id", "")):
            return False
    return True
