"""Mask goal functions: a body becomes `raise NotImplementedError`; every other byte of the file stays.

Signature, decorators, docstring and a comment on the signature's line stay. Comments in the body are removed, including
those after its last statement, because they may contain the answer.
"""

import ast
import functools
import re
from collections.abc import Mapping, Sequence

from ..base.source import (
    FunctionNode,
    SourceError,
    block_end,
    bound_names,
    find_function,
    first_line,
    indentation,
    newline_of,
    offset,
    parse,
    split_lines,
)
from ..loader import File

#: Rest of the signature's line if the body starts on a later line.
_REST_OF_LINE = re.compile(r"[ \t\f]*(?:#[^\r\n]*)?(?:\r\n|\r|\n)")
#: From the last part of a signature to its colon: brackets, commas, comments. Possessive, to prevent backtracking.
_TO_COLON = re.compile(r"(?:[^:#]|#[^\r\n]*+)*+:")
#: Instances of a task mask the same functions, and parsing a file takes milliseconds.
_memory = functools.lru_cache(maxsize=1024)


@_memory
def mask_function(source: str, qualified_name: str) -> str:
    """Mask the body of one function in `source`."""
    bom, source = _split_bom(source)
    node = find_function(source, qualified_name).node
    lines = split_lines(source)
    newline = newline_of(source)
    colon = _signature_end(source, lines, node)
    if rest := _REST_OF_LINE.match(source, colon):
        kept = source[: rest.end()]
        indent = indentation(lines, node.body[0].lineno).rpartition("\f")[2]
    else:  # `def f(x): return x`
        kept = source[:colon] + newline
        indent = indentation(lines, node.lineno).rpartition("\f")[2] + "    "
    if ast.get_docstring(node, clean=False) is not None:
        text = node.body[0]
        kept += (
            indent
            + source[offset(lines, text.lineno, text.col_offset) : _end(lines, text)]
            + newline
        )

    end = block_end(lines, node)
    last = lines[end - 1]
    closing = last[len(last.rstrip("\r\n")) :]  # the file may end without a line ending
    masked = f"{kept}{indent}raise NotImplementedError{closing}{''.join(lines[end:])}"
    if not is_masked(find_function(masked, qualified_name).node):
        raise SourceError(
            f"the body of {qualified_name!r} cannot be masked; put it on lines of its own"
        )
    return bom + masked


def mask_files(
    files: Mapping[str, File],
    goals: Mapping[str, Sequence[str]],
    removed: Mapping[str, Sequence[str]],
    *,
    keep_imports: bool = False,
) -> dict[str, File]:
    """Mask functions in several files, and remove the definitions and imports that only they need.

    Args:
        goals: file → qualified names of the functions to mask.
        removed: file → names of definitions to remove (`remove_definition`).
        keep_imports: also keep imports that are no longer used.
    """
    masked = dict(files)
    for path in dict.fromkeys([*goals, *removed]):
        try:
            before = text = files[path].data.decode("utf-8")
            for name in goals.get(path, ()):
                text = mask_function(text, name)
            for name in removed.get(path, ()):
                text = remove_definition(text, name)
        except SourceError as error:
            raise SourceError(f"{path}: {error}") from None
        except UnicodeDecodeError as error:
            raise SourceError(f"{path}: is not UTF-8 ({error})") from error
        text = text if keep_imports else drop_unused_imports(before, text)
        masked[path] = files[path]._replace(data=text.encode("utf-8"))
    return masked


@_memory
def remove_definition(source: str, name: str) -> str:
    """Remove a function, class or constant (`name` or `Class.name`), its comments and the blank lines below it."""
    bom, source = _split_bom(source)
    holder: ast.Module | ast.ClassDef = parse(source)
    owner, _, member = name.rpartition(".")
    if owner:
        classes = [
            node for node in holder.body if isinstance(node, ast.ClassDef) and node.name == owner
        ]
        if len(classes) != 1:
            raise SourceError(f"{len(classes)} top-level classes {owner!r}; expected exactly one")
        holder = classes[0]
    body = holder.body
    found = [index for index, node in enumerate(body) if member in bound_names([node])]
    if len(found) != 1:
        level = f"definitions of {name!r}" if owner else f"top-level definitions of {name!r}"
        raise SourceError(f"{len(found)} {level}; exactly one can be removed")
    index = found[0]
    lines = split_lines(source)
    start, end = first_line(body[index]) - 1, block_end(lines, body[index])
    above = body[index - 1].end_lineno or 0 if index else getattr(holder, "lineno", 0)
    is_last = index + 1 == len(body)
    below = len(lines) + 1 if is_last else first_line(body[index + 1])
    if (
        len({*bound_names([body[index]])}) > 1
        or above > start
        or below <= end
        or (owner and len(body) == 1)
    ):
        raise SourceError(
            f"{name!r} shares its statement or line with others; put it on a line of its own"
        )
    while start > above and lines[start - 1].lstrip().startswith("#"):
        start -= 1
    if owner and is_last:  # the blank lines below separate the class from what follows
        while start > above and not lines[start - 1].strip():
            start -= 1
    else:
        while end < len(lines) and not lines[end].strip():
            end += 1
    return bom + "".join(lines[:start] + lines[end:])


@_memory
def drop_unused_imports(before: str, after: str) -> str:
    """Remove the top-level imports that `before` uses and `after` does not, because they hint at the removed code."""
    bom, after = _split_bom(after)
    tree, lines = parse(after), split_lines(after)
    unused = _used_names(parse(before)) - _used_names(tree)
    for node in reversed(tree.body):
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        kept = [
            alias
            for alias in node.names
            if (alias.asname or alias.name).partition(".")[0] not in unused
        ]
        if len(kept) < len(node.names):
            newline = newline_of(after)
            node.names = kept
            lines[node.lineno - 1 : node.end_lineno] = [ast.unparse(node) + newline] if kept else []
    return bom + "".join(lines)


def _used_names(tree: ast.Module) -> set[str]:
    """Return the names that code reads, including those in strings such as annotations, but not in docstrings."""
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            names.add(node.id)
        elif (
            isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose
        ):
            names.update(re.findall(r"\w+", node.value))
    return names


def _split_bom(source: str) -> tuple[str, str]:
    return ("\ufeff", source[1:]) if source.startswith("\ufeff") else ("", source)


def _signature_end(source: str, lines: list[str], node: FunctionNode) -> int:
    """Return the character offset after the colon that ends the signature."""
    args = node.args
    parameters = [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]
    expressions = [
        *args.defaults,
        *args.kw_defaults,
        node.returns,
        *getattr(node, "type_params", ()),
    ]
    start = offset(lines, node.lineno, node.col_offset)
    ends = [_end(lines, part) for part in (*parameters, *expressions) if part is not None]
    match = _TO_COLON.match(source, max(ends, default=start))
    assert match is not None  # the source parses
    return match.end()


def is_masked(node: FunctionNode) -> bool:
    """Return whether the body of a function is masked."""
    body = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
    return len(body) == 1 and ast.unparse(body[0]) == "raise NotImplementedError"


def _end(lines: list[str], node: ast.stmt | ast.expr | ast.arg) -> int:
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    return offset(lines, node.end_lineno, node.end_col_offset)
