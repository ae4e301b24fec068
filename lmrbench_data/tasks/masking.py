"""Mask goal functions: a body becomes `raise NotImplementedError`; every other byte stays.

Signature, decorators, docstring and a comment on the signature's line stay. Comments in the body
are removed, including those after its last statement, because they may contain the answer.
"""

import ast
import functools
import itertools
import re
import tokenize
from collections.abc import Callable, Iterable, Mapping, Sequence

from ..base.source import (
    FunctionNode,
    SourceError,
    block_end,
    bound_names,
    class_bodies,
    find_function,
    first_line,
    imported_name,
    indentation,
    newline_of,
    parse,
    python_text,
    split_bom,
    split_lines,
)
from ..loader import File

#: Instances of a task mask the same functions, and parsing a file takes milliseconds.
_memory = functools.lru_cache(maxsize=1024)


@_memory
def mask_function(source: str, qualified_name: str) -> str:
    """Mask the body of one function in `source`."""
    bom, source = split_bom(source)
    node = find_function(source, qualified_name).node
    lines = split_lines(source)
    signature_end = _signature_end(lines, node)
    body = _masked_body(source, lines, node)
    masked = "".join([*lines[:signature_end], body, *lines[block_end(lines, node) :]])
    is_below = node.body[0].lineno > signature_end
    if not is_below or not is_masked(find_function(masked, qualified_name).node):
        raise SourceError(
            f"the body of {qualified_name!r} cannot be masked; put it on lines of its own"
        )
    return bom + masked


def _masked_body(source: str, lines: list[str], node: FunctionNode) -> str:
    """Return the docstring of a function, if any, and the line in place of its statements."""
    # Python counts an indentation from the last form feed.
    indent = indentation(lines, node.body[0].lineno).rpartition("\f")[2]
    last_line = lines[block_end(lines, node) - 1]
    ending = last_line.removeprefix(last_line.rstrip("\r\n"))
    masked = f"{indent}raise NotImplementedError{ending}"
    if not _has_docstring(node):
        return masked
    docstring = ast.get_source_segment(source, node.body[0])
    return f"{indent}{docstring}{newline_of(source)}{masked}"


def _signature_end(lines: list[str], node: FunctionNode) -> int:
    """Return the last line of a signature, whose end `tokenize` finds only at line feeds."""
    unix_lines = (line.rstrip("\r\n") + "\n" for line in lines[node.lineno - 1 :])
    for token in tokenize.generate_tokens(unix_lines.__next__):
        if token.type == tokenize.NEWLINE:
            return node.lineno - 1 + token.start[0]
    raise AssertionError("source that parses has a line below each signature")


def is_masked(node: FunctionNode) -> bool:
    """Return whether the body of a function is masked."""
    body = node.body[1:] if _has_docstring(node) else node.body
    return len(body) == 1 and ast.unparse(body[0]) == "raise NotImplementedError"


def _has_docstring(node: FunctionNode) -> bool:
    return ast.get_docstring(node, clean=False) is not None


def mask_files(
    files: Mapping[str, File],
    goals: Mapping[str, Sequence[str]],
    removed: Mapping[str, Sequence[str]],
    *,
    keep_imports: bool,
) -> dict[str, File]:
    """Mask functions in several files, and remove the definitions and imports that only they need.

    Args:
        goals: file → qualified names of the functions to mask.
        removed: file → names of definitions to remove (`remove_definition`).
        keep_imports: also keep imports that are no longer used.
    """
    masked = dict(files)
    for path in sorted({*goals, *removed}):
        try:
            before = python_text(files[path].data)
            after = _mask_source(before, goals.get(path, ()), removed.get(path, ()))
            text = after if keep_imports else drop_unused_imports(before, after)
        except SourceError as error:
            raise SourceError(f"{path}: {error}") from None
        masked[path] = files[path]._replace(data=text.encode("utf-8"))
    return masked


def _mask_source(source: str, goals: Sequence[str], removed: Sequence[str]) -> str:
    for name in goals:
        source = mask_function(source, name)
    for name in removed:
        source = remove_definition(source, name)
    return source


@_memory
def remove_definition(source: str, name: str) -> str:
    """Remove a function, class or constant (`name` or `Class.name`), its comments and blank lines.

    The blank lines are those below it; below the last member of a class they separate the class
    from what follows, so those above it go.
    """
    bom, source = split_bom(source)
    lines = split_lines(source)
    body, node = _find_definition(parse(source), name)
    is_member = "." in name
    if is_member and len(body) == 1:
        raise SourceError(f"{name!r} is the only member of its class; remove the class")
    above = _last_line_above(lines, body, node)
    if above is None:
        raise SourceError(
            f"{name!r} shares its statement or line with others; put it on a line of its own"
        )
    start = first_line(node) - 1
    start -= _count_first(_is_comment, reversed(lines[above:start]))
    end = block_end(lines, node)
    if is_member and node is body[-1]:
        start -= _count_first(str.isspace, reversed(lines[:start]))
    else:
        end += _count_first(str.isspace, lines[end:])
    return bom + "".join(lines[:start] + lines[end:])


def _count_first(test: Callable[[str], bool], lines: Iterable[str]) -> int:
    """Count the lines before the first one that fails a test."""
    return len(list(itertools.takewhile(test, lines)))


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith("#")


def _find_definition(tree: ast.Module, name: str) -> tuple[list[ast.stmt], ast.stmt]:
    """Return the block in which a name is defined, and the statement."""
    owner, _, member = name.rpartition(".")
    blocks = list(class_bodies(tree.body, [owner])) if owner else [tree.body]
    if len(blocks) != 1:
        raise SourceError(f"{len(blocks)} top-level classes {owner!r}; expected exactly one")
    [block] = blocks
    nodes = [node for node in block if member in bound_names([node])]
    if len(nodes) != 1:
        level = "definitions" if owner else "top-level definitions"
        raise SourceError(f"{len(nodes)} {level} of {name!r}; exactly one can be removed")
    return block, nodes[0]


def _last_line_above(lines: list[str], body: Sequence[ast.stmt], node: ast.stmt) -> int | None:
    """Return the last line of the statement above; None if others share the line or statement."""
    place = body.index(node)
    above = max((other.end_lineno or 0 for other in body[:place]), default=0)
    below = min((other.lineno for other in body[place + 1 :]), default=len(lines) + 1)
    is_alone = above < first_line(node) and below > block_end(lines, node)
    return above if is_alone and len(set(bound_names([node]))) == 1 else None


@_memory
def drop_unused_imports(before: str, after: str) -> str:
    """Remove the top-level imports that `before` uses and `after` does not, which are hints."""
    bom, after = split_bom(after)
    tree = parse(after)
    lines = split_lines(after)
    unused = _used_names(parse(before)) - _used_names(tree)
    for node in reversed(tree.body):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias for alias in node.names if imported_name(alias) not in unused]
            if names != node.names:
                node.names = names
                text = [ast.unparse(node) + newline_of(after)] if names else []
                lines[node.lineno - 1 : node.end_lineno] = text
    return bom + "".join(lines)


def _used_names(tree: ast.Module) -> set[str]:
    """Return the names that code reads, also in strings such as annotations, not in docstrings."""
    prose = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            names.add(node.id)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in prose:
            names.update(re.findall(r"\w+", node.value))
    return names
