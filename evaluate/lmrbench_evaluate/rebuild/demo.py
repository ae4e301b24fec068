"""Leave out the demo below an answer: what follows its last definition and is neither needed nor a constant."""

import ast
import builtins
import symtable
from collections.abc import Iterator

from lmrbench_data.base.source import FunctionNode, parse, split_lines
from lmrbench_data.base.text import plural

_BUILTINS = set(dir(builtins))


def without_demo(code: str, file: str, *, is_whole: bool = False) -> tuple[str, str]:
    """Return code that parses without the demo below its last definition, and a note on what was left out.

    Imports stay, statements that the file has, constants (assignments that call nothing and read only names that are
    there), and what sets a name that the definitions read and the file lacks, such as `TABLE = build_table()`.

    Args:
        file: the masked file.
        is_whole: whether the code replaces the file, so that the file's names are not there.
    """
    tree, lines = parse(code), split_lines(code)
    last = max((number for number, node in enumerate(tree.body) if _defines(node)), default=len(tree.body))
    if not (below := tree.body[last + 1 :]):
        return code, ""
    try:
        own = _table("".join(lines[: tree.body[last].end_lineno]))
        others = _BUILTINS | (set() if is_whole else _bound(_table(file)))
        kept = _kept(below, own, others, set(map(ast.dump, parse(file).body)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return code, ""  # Python cannot compile it
    for node in reversed(demo := [node for node in below if node not in kept]):
        first, end = node.lineno - 1, node.end_lineno or 0
        before, behind = lines[first].encode()[: node.col_offset], lines[end - 1].encode()[node.end_col_offset :]
        lines[first:end] = [f"{before.decode()}pass{behind.decode()}", *[""] * (end - 1 - first)]
    return "".join(lines), f"left out below the last definition: {plural(len(demo), 'statement')}" if demo else ""


def _kept(below: list[ast.stmt], own: symtable.SymbolTable, others: set[str], repeated: set[str]) -> set[ast.stmt]:
    """Return the statements below the definitions that stay.

    Args:
        own: names of the answer up to its last definition.
        others: names of the file and of Python.
        repeated: dumps of the file's statements.
    """
    symbols = own.get_symbols()
    defined = {symbol.get_name() for symbol in symbols if symbol.is_namespace()}
    elsewhere = others | {symbol.get_name() for symbol in symbols if symbol.is_imported()}
    needed = (set(_globals(own)) - elsewhere) | defined
    kept = set[ast.stmt]()
    for node in reversed(below):
        called = {
            part.func.id for part in ast.walk(node) if isinstance(part, ast.Call) and isinstance(part.func, ast.Name)
        }
        is_code = not isinstance(node, ast.Import | ast.ImportFrom | ast.Pass)
        is_code &= not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        names = set(_set_names(node))
        if not is_code or ast.dump(node) in repeated or (names & needed and not names & called):
            kept.add(node)
            needed |= _read(node) - elsewhere
    known = others | _bound(own)
    for node in below:
        calls = any(isinstance(part, ast.Call | ast.Await) for part in ast.walk(node))
        if isinstance(node, ast.Assign | ast.AnnAssign) and not calls and _read(node) <= known:
            kept |= set() if set(_set_names(node)) & (defined | _BUILTINS) else {node}
        known |= set(_set_names(node)) if node in kept else set()
    return kept


def _defines(node: ast.stmt) -> bool:
    """Return whether a statement defines something, or chooses what to define, but not below `if __name__ == ...`."""
    parts = list(ast.walk(node)) if isinstance(node, ast.If | ast.Try) else [node]
    is_guarded = any(isinstance(part, ast.Name) and part.id == "__name__" for part in parts)
    return not is_guarded and any(isinstance(part, FunctionNode | ast.ClassDef) for part in parts)


def _table(source: str) -> symtable.SymbolTable:
    return symtable.symtable(source.removeprefix("\ufeff"), "<parsed, not run>", "exec")


def _bound(table: symtable.SymbolTable) -> set[str]:
    """Return the names that code binds outside functions and classes."""
    return {symbol.get_name() for symbol in table.get_symbols() if symbol.is_assigned() or symbol.is_imported()}


def _globals(table: symtable.SymbolTable) -> Iterator[str]:
    """Yield the names of the module that functions and classes read."""
    for inner in table.get_children():
        yield from (symbol.get_name() for symbol in inner.get_symbols() if symbol.is_global())
        yield from _globals(inner)


def _read(node: ast.stmt) -> set[str]:
    """Return the names of the module that a statement reads, now or in its functions."""
    table = _table(ast.unparse(node))
    return {symbol.get_name() for symbol in table.get_symbols() if symbol.is_referenced()} | set(_globals(table))


def _set_names(node: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement binds, or whose values it changes: `A = 1`, `A[0] = 1`, `A.append(1)`."""
    for part in ast.walk(node):
        target: ast.AST = part.value.func if isinstance(part, ast.Expr) and isinstance(part.value, ast.Call) else part
        if isinstance(part, ast.alias):
            yield (part.asname or part.name).partition(".")[0]
        elif target is not part or isinstance(getattr(part, "ctx", None), ast.Store):
            while isinstance(target, ast.Attribute | ast.Subscript):
                target = target.value
            if isinstance(target, ast.Name):
                yield target.id
