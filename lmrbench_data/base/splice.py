"""Put functions from a piece of code into a file, with imports, helpers and members they need."""

import ast
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeGuard

from .source import (
    FunctionNode,
    MalformedAnswerError,
    SourceError,
    Target,
    block_end,
    bound_names,
    check_encoding,
    class_bodies,
    every_name,
    find_function,
    first_line,
    indentation,
    is_accessor,
    is_companion,
    newline_of,
    parse,
    reindent,
    split_bom,
    split_lines,
)

#: Name of a class put around members without one.
WRAPPER = "_class_of_the_answer"


class _Located(NamedTuple):
    """The place of a function in code."""

    holder: ast.stmt
    """The statement at the top that holds it: the function itself, or the class around it."""
    body: list[ast.stmt]
    node: FunctionNode

    @property
    def siblings(self) -> list[ast.stmt]:
        """The other members of its class."""
        if self.holder is self.node:
            return []
        return [node for node in self.body if node is not self.node]


class _Edit(NamedTuple):
    """A text, and the lines that it replaces."""

    start: int
    stop: int
    text: str


class _Support(NamedTuple):
    """The statements that go with a function."""

    above: list[ast.stmt]
    members: list[ast.stmt]
    """Methods and attributes that accompany a method and are new to its class."""
    below: list[ast.stmt]


def splice_code(file: str, name: str, code: str) -> str:
    """Replace a function of a file by the one that a piece of code defines; return the new file.

    Decorators of the file stay unless the code has some. Imports, helpers and constants of the code
    go directly above the statement that holds the function, or below it if they followed the
    function in the code. New members of its class go directly above the method, `from __future__`
    imports to the top.

    Raises:
        MalformedAnswerError: no definition of the function in the code, more than one, a syntax
            error, or an encoding other than UTF-8.
    """
    tree = _parse_answer(code)
    definitions = _definitions(tree, name)
    if len(definitions) != 1:
        count = f"{len(definitions)} definitions" if definitions else "no top-level definition"
        short_name = name.rpartition(".")[2]
        raise MalformedAnswerError(f"{count} of {short_name!r} in the answer; expected exactly one")
    located = definitions[0]
    return _replace(file, name, code, located, tree.body, located.siblings)


def splice_functions(file: str, names: Sequence[str], code: str) -> str:
    """Replace several functions of a file by those that a piece of code defines.

    Imports, helpers and constants go with the first of them.

    Raises:
        MalformedAnswerError: as `splice_code`, for any of them.
    """
    tree = _parse_answer(code)
    functions = _locate(tree, names, names)
    return _replace_all(file, code, functions, {names[0]: _other_statements(tree, functions)})


def splice_reply(file: str, names: Sequence[str], code: str, goals: Sequence[str]) -> str:
    """Replace functions of a file by those of a reply, which may repeat other parts of the file.

    Imports, helpers and constants go with the function below them, and what follows the last
    function goes below the last one of the file. Statements and classes that the file has already
    are left out.

    Args:
        names: the functions to take from the code, which defines them.
        goals: these and the functions that are taken from elsewhere.

    Raises:
        MalformedAnswerError: as `splice_code`, for any of them.
    """
    tree = _parse_answer(code)
    located = _locate(tree, names, goals)
    functions = dict(sorted(located.items(), key=lambda item: item[1].holder.lineno))
    lowest = max(names, key=lambda name: first_line(find_function(file, name).node))
    statements: dict[str, list[ast.stmt]] = {}
    for node in _new_statements(_other_statements(tree, functions), file, goals):
        owner = _function_below(node, functions) or lowest
        statements.setdefault(owner, []).append(node)
    return _replace_all(file, code, functions, statements)


def covers(code: str, file: str) -> bool:
    """Return whether code binds every name that a file binds, at the top and in classes."""
    return every_name(parse(file)) <= every_name(parse(code))


def defines(tree: ast.Module, name: str, names: Sequence[str] = ()) -> bool:
    """Return whether code defines a function.

    A method may lack its class if no other of `names` has its name.
    """
    return bool(_definitions(tree, name, names))


def wrappers(tree: ast.Module) -> list[ast.ClassDef]:
    """Return the class named WRAPPER, if any."""
    return [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == WRAPPER]


# --- find the functions in an answer -------------------------------------------------------------


def _parse_answer(code: str) -> ast.Module:
    try:
        check_encoding(code)
        return parse(code)
    except SourceError as error:
        raise MalformedAnswerError(str(error)) from None


def _definitions(tree: ast.Module, name: str, names: Sequence[str] = ()) -> list[_Located]:
    """Return the definitions of a function at the top of code and in its class, the latter first.

    A method may stand alone if no other of `names` has its name, or without `names` in any end of
    its chain of classes. Companions (`is_companion`) do not count.
    """
    last = name.rpartition(".")[2]
    definitions = []
    for body in _bodies(tree, name, names):
        for node in body:
            if isinstance(node, FunctionNode) and node.name == last and not is_companion(node):
                above = [top for top in tree.body if first_line(top) <= node.lineno]
                definitions.append(_Located(above[-1], body, node))
    return definitions


def _bodies(tree: ast.Module, name: str, names: Sequence[str]) -> list[list[ast.stmt]]:
    """Return the blocks of code that may define a function."""
    *outer, last = name.split(".")
    has_namesake = any(other.split(".")[-1] == last and other != name for other in names)
    bodies = list(class_bodies(tree.body, outer)) if outer else []
    if not names:
        for start in range(1, len(outer)):
            bodies += class_bodies(tree.body, outer[start:])
    if not outer or not has_namesake:
        bodies.append(tree.body)
    if not names:
        bodies += [node.body for node in wrappers(tree)]
    return bodies


def _locate(tree: ast.Module, names: Sequence[str], goals: Sequence[str]) -> dict[str, _Located]:
    """Return the first definition of each function; a class must have only one."""
    functions = {}
    for name in names:
        definitions = _definitions(tree, name, goals)
        if not definitions:
            raise MalformedAnswerError(f"no definition of {name!r}")
        first, *others = definitions
        if first.holder is not first.node and any(other.body is first.body for other in others):
            raise MalformedAnswerError(f"several definitions of {name!r} in the answer")
        functions[name] = first
    return functions


def _other_statements(tree: ast.Module, functions: dict[str, _Located]) -> list[ast.stmt]:
    """Return the statements at the top of code that hold none of the functions."""
    holders = [located.holder for located in functions.values()]
    return [node for node in tree.body if node not in holders]


def _new_statements(nodes: Iterable[ast.stmt], file: str, goals: Sequence[str]) -> list[ast.stmt]:
    """Return the statements that a file lacks, without drafts of its goal functions."""
    body = parse(file).body
    statements = {ast.dump(node) for node in body}
    classes = {node.name for node in body if isinstance(node, ast.ClassDef)}
    functions = {goal.rpartition(".")[2] for goal in goals}
    return [node for node in nodes if _is_new(node, statements, classes, functions)]


def _is_new(node: ast.stmt, statements: set[str], classes: set[str], functions: set[str]) -> bool:
    if isinstance(node, ast.ClassDef):
        return node.name not in classes
    if isinstance(node, FunctionNode) and node.name in functions:
        return False
    return ast.dump(node) not in statements


def _function_below(node: ast.stmt, functions: dict[str, _Located]) -> str | None:
    """Return the first function that stands below a statement."""
    for name, located in functions.items():
        if located.holder.lineno > node.lineno:
            return name
    return None


def _replace_all(
    file: str,
    code: str,
    functions: dict[str, _Located],
    statements: dict[str, list[ast.stmt]],
) -> str:
    """Replace functions in order; the first one of a class takes the other members along.

    Args:
        statements: function → statements at the top of the code that go with it.
    """
    placed: list[ast.stmt] = [located.node for located in functions.values()]
    for name, located in functions.items():
        siblings = [node for node in located.siblings if node not in placed]
        placed += siblings
        file = _replace(file, name, code, located, statements.get(name, []), siblings)
    return file


# --- take the answer apart -----------------------------------------------------------------------


def _support(
    name: str,
    place: Target,
    located: _Located,
    statements: Sequence[ast.stmt],
    siblings: Sequence[ast.stmt],
) -> _Support:
    """Sort the statements at the top and the siblings in its class that go with a function."""
    above, below = _around(located.holder, statements)
    above += [node for node in siblings if isinstance(node, ast.Import | ast.ImportFrom)]
    beside = [node for node in siblings if node not in above]
    if "." in name:
        return _Support(above, _new_members(beside, place.parents[-1]), below)
    line = located.node.lineno
    above += [node for node in beside if node.lineno < line]
    below = [node for node in beside if node.lineno > line] + below
    return _Support(above, [], below)


def _around(
    holder: ast.stmt, statements: Sequence[ast.stmt]
) -> tuple[list[ast.stmt], list[ast.stmt]]:
    """Return the statements above and below another one."""
    start = first_line(holder)
    end = holder.end_lineno or 0
    above = [node for node in statements if (node.end_lineno or 0) < start]
    below = [node for node in statements if first_line(node) > end and not is_accessor(node)]
    return above, below


def _new_members(nodes: Iterable[ast.stmt], owner: ast.stmt) -> list[ast.stmt]:
    """Return the members that bind names, all of which are new to a class."""
    present = set(bound_names(owner.body)) if isinstance(owner, ast.ClassDef) else set()
    members = []
    for node in nodes:
        names = set(bound_names([node]))
        if names and names.isdisjoint(present):
            members.append(node)
    return members


def _text(lines: list[str], nodes: Iterable[ast.stmt], indent: str = "", gap: str = "") -> str:
    """Return the source of the statements that a solution may need, each followed by a gap."""
    text = ""
    last = 0
    for node in nodes:
        start = first_line(node)
        is_repeated = start <= last  # `a = 1; b = 2` is one piece of source
        if is_repeated or _is_prose(node) or _is_future(node):
            continue
        last = block_end(lines, node)
        source = "".join(lines[start - 1 : last]).rstrip() + "\n"
        text += reindent(source, indentation(lines, node.lineno), indent) + gap
    return text


def _is_prose(node: ast.stmt) -> bool:
    """Return whether a statement is a docstring, or a demo under `if __name__ == "__main__"`."""
    if not isinstance(node, ast.If):
        return isinstance(node, ast.Expr | ast.Pass)
    return any(isinstance(part, ast.Name) and part.id == "__name__" for part in ast.walk(node.test))


def _is_future(node: ast.stmt) -> TypeGuard[ast.ImportFrom]:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _future_names(nodes: Iterable[ast.stmt]) -> set[str]:
    return {alias.name for node in nodes if _is_future(node) for alias in node.names}


# --- put it into the file ------------------------------------------------------------------------


def _replace(
    file: str,
    name: str,
    code: str,
    located: _Located,
    statements: Sequence[ast.stmt],
    siblings: Sequence[ast.stmt],
) -> str:
    """Replace a function of a file by that of an answer, and add what goes with it."""
    bom, file = split_bom(file)
    try:
        place = find_function(file, name)
        support = _support(name, place, located, statements, siblings)
        result = _insert(file, place, split_lines(code), located.node, support)
        result = _with_future(result, _future_names(support.above + support.below))
        find_function(result, name)  # the result must parse and hold one definition
    except SourceError as error:
        raise MalformedAnswerError(str(error)) from None
    return bom + result


def _insert(
    file: str, place: Target, code: list[str], function: FunctionNode, support: _Support
) -> str:
    """Edit the lines of a file from below, where each edit leaves the places above it alone."""
    lines = split_lines(file)
    node = place.node
    holder = place.parents[0] if place.parents else node
    end = max(block_end(lines, node), block_end(lines, holder))
    above = _text(code, support.above)
    members = _text(code, support.members, indentation(lines, node.lineno), gap="\n")
    below = _text(code, support.below)
    edits = [
        _insertion(end, _below(lines[end - 1], below)),
        _function_edit(lines, node, code, function),
        _insertion(first_line(node) - 1, members),
        _insertion(first_line(holder) - 1, above and f"{above}\n"),
    ]
    newline = newline_of(file)
    for edit in edits:
        lines[edit.start : edit.stop] = [re.sub(r"\r\n?|\n", newline, edit.text)]
    return "".join(lines)


def _insertion(line: int, text: str) -> _Edit:
    return _Edit(line, line, text)


def _function_edit(
    lines: list[str], node: FunctionNode, code: list[str], function: FunctionNode
) -> _Edit:
    """Replace a function; decorators of the file stay unless the new function has some."""
    start = first_line(node) if function.decorator_list else node.lineno
    end = block_end(lines, node)
    text = "".join(code[first_line(function) - 1 : block_end(code, function)])
    old, new = indentation(code, function.lineno), indentation(lines, node.lineno)
    text = reindent(text, old, new).rstrip("\r\n")
    if _is_complete(lines[end - 1]):
        text += "\n"
    return _Edit(start - 1, end, text)


def _below(last_line: str, text: str) -> str:
    """Return a text that goes below a line, after a blank line."""
    if not text:
        return ""
    return f"\n{text}" if _is_complete(last_line) else f"\n\n{text}"


def _is_complete(line: str) -> bool:
    return line.endswith(("\n", "\r"))


def _with_future(source: str, names: set[str]) -> str:
    """Add imports of these names from `__future__`."""
    if not names:
        return source
    tree = parse(source)
    lines = split_lines(source)
    newline = newline_of(source)
    has_docstring = ast.get_docstring(tree) is not None
    after = tree.body[0].end_lineno or 0 if has_docstring else 0
    missing = sorted(names - _future_names(tree.body))
    added = [f"from __future__ import {name}{newline}" for name in missing]
    return "".join(lines[:after] + added + lines[after:])
