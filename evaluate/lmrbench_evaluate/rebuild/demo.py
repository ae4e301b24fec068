"""Leave out the demo below an answer."""

import ast
import builtins

from lmrbench_data.base.source import FunctionNode, parse, split_lines
from lmrbench_data.base.text import plural

_NAMING = ast.Import | ast.ImportFrom | ast.Assign | ast.AnnAssign | ast.If | ast.Try | ast.Pass


def without_demo(code: str, file: str) -> tuple[str, str]:
    """Return code that parses without its demo, and a note on what was left out.

    The demo starts with the first statement below the last definition that does more than name
    things. Statements of the masked file are never part of it.
    """
    body = parse(code).body
    numbers = (number for number, node in enumerate(body, start=1) if _defines(node))
    last = max(numbers, default=len(body))
    in_file = {ast.dump(node) for node in parse(file).body}
    remaining = []
    is_demo = False
    for node in body[last:]:
        is_given = ast.dump(node) in in_file
        is_demo = is_demo or not (is_given or _only_names(node))
        if is_given or not is_demo:
            remaining.append(node)
    number = len(body) - last - len(remaining)
    if not number:
        return code, ""
    lines = split_lines(code)[: body[last - 1].end_lineno]
    lines += [f"{ast.unparse(node)}\n" for node in remaining]
    return "".join(lines), f"left out below the last definition: {plural(number, 'statement')}"


def _defines(node: ast.stmt) -> bool:
    """Return whether a statement defines something, but not below `if __name__ == ...`."""
    parts = list(ast.walk(node)) if isinstance(node, ast.If | ast.Try) else [node]
    if any(getattr(part, "id", "") == "__name__" for part in parts):
        return False
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
