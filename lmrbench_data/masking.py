"""Mask a goal function: its body becomes `raise NotImplementedError`, every other byte of the file stays.

Signature, decorators, docstring and a comment on the signature's line are kept. Comments inside the body go with it,
also those after its last statement, because they may hold the answer.
"""

import ast
import io
import tokenize

from lmrbench_data.source import (
    SourceError,
    block_end,
    find_function,
    first_line,
    indentation,
    newline_of,
    offset,
    parse,
    split_lines,
)


def mask_function(source: str, qualified_name: str) -> str:
    """`source` with the body of one function masked.

    Raises:
        SourceError: no such function, several of that name, or unparsable source.
    """
    bom, source = _split_bom(source)
    node = find_function(source, qualified_name).node
    lines = split_lines(source)
    newline = newline_of(source)
    header_end = _header_end(lines, node)
    docstring = node.body[0] if ast.get_docstring(node, clean=False) is not None else None

    if _line_of(lines, header_end) == node.body[0].lineno - 1:  # `def f(x): return x`
        kept = source[:header_end] + newline
        indent = indentation(lines, node.lineno) + "    "
    else:
        kept = "".join(lines[: _line_of(lines, header_end) + 1])
        indent = indentation(lines, node.body[0].lineno)
    if docstring:
        kept += indent + _text(source, lines, docstring) + newline

    end = block_end(lines, node)
    tail = lines[end:]
    last = lines[end - 1]
    closing = last[len(last.rstrip("\r\n")) :]  # the file may end without a line ending
    return bom + kept + f"{indent}raise NotImplementedError{closing}" + "".join(tail)


def remove_definition(source: str, name: str) -> str:
    """`source` without the top-level function, class or constant `name`, its attached comments and the blanks below it.

    Raises:
        SourceError: none or several such definitions, or unparsable source.
    """
    bom, source = _split_bom(source)
    found = [node for node in parse(source).body if name in _bound_names(node)]
    if len(found) != 1:
        raise SourceError(f"{len(found)} top-level definitions of {name!r}; one is needed to remove it")
    lines = split_lines(source)
    start = first_line(found[0]) - 1
    while start > 0 and lines[start - 1].lstrip().startswith("#"):
        start -= 1
    end = block_end(lines, found[0])
    while end < len(lines) and not lines[end].strip():
        end += 1
    return bom + "".join(lines[:start] + lines[end:])


def _bound_names(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {node.name}
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return {target.id for target in targets if isinstance(target, ast.Name)}


def _split_bom(source: str) -> tuple[str, str]:
    return ("\ufeff", source[1:]) if source.startswith("\ufeff") else ("", source)


def _header_end(lines: list[str], node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Character offset just behind the colon that ends the signature."""
    start = offset(lines, node.lineno, 0)
    text = "".join(lines)[start:]
    depth = lambdas = 0
    # The tokenizer counts rows as io.StringIO gives lines; `newline=""` keeps them those of `split_lines`.
    for token in tokenize.generate_tokens(io.StringIO(text, newline="").readline):
        if token.type == tokenize.NAME and token.string == "lambda" and depth == 0:
            lambdas += 1
        elif token.type == tokenize.OP and token.string in "([{":
            depth += 1
        elif token.type == tokenize.OP and token.string in ")]}":
            depth -= 1
        elif token.type == tokenize.OP and token.string == ":" and depth == 0:
            if not lambdas:
                row, column = token.end
                return start + sum(map(len, split_lines(text)[: row - 1])) + column
            lambdas -= 1
    raise SourceError(f"line {node.lineno}: the signature does not end")  # cannot happen in source that parses


def _line_of(lines: list[str], position: int) -> int:
    """0-based line that holds the character before `position`."""
    for number, line in enumerate(lines):
        position -= len(line)
        if position <= 0:
            return number
    return len(lines) - 1


def _text(source: str, lines: list[str], node: ast.stmt) -> str:
    start = offset(lines, node.lineno, node.col_offset)
    return source[start : offset(lines, node.end_lineno or 0, node.end_col_offset or 0)]
